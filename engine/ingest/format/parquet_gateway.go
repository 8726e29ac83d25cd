//go:build gateway

package format

// readParquet refuses the format, whose library this build leaves out.
func readParquet(_ []byte, _ *Budget) ([]Table, error) {
	return nil, fail(Unsupported, "the file is Parquet, which this build of Sunloop (gateway) does not read; use the full build, or write the table as CSV")
}
