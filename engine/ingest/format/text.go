package format

// parseLines reads the formats of lines.
func parseLines(_, _ []byte, _ *Budget) ([]Table, error) { return nil, nil }

func parseJSON(_ []byte, _ *Budget) ([]Table, error) {
	return nil, fail(Unsupported, "the file is JSON, which is not read; export the data as CSV or XLSX")
}

func espiTables(_ []byte, _ *Budget) ([]Table, error) {
	return nil, fail(Unsupported, "the file is Green Button XML, which is not read; export the data as CSV")
}

func readParquet(_ []byte, _ *Budget) ([]Table, error) {
	return nil, fail(Unsupported, "the file is Parquet, which is not read; write it as CSV")
}
