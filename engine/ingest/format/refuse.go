package format

import "bytes"

// unread are the first bytes of formats that are not supported, with messages that say what to do instead.
var unread = []struct{ prefix, message string }{
	{"\xd0\xcf\x11\xe0", "the file is a workbook of Excel 97 to 2003 (.xls); save it as .xlsx or CSV in a spreadsheet program, and import that"},
	{"\x09\x08", "the file is a workbook of an early Excel (.xls); save it as .xlsx or CSV in a spreadsheet program, and import that"},
	{"7z\xbc\xaf", "the file is a 7-Zip archive; extract it, or pack it as zip, and import that"},
	{"Rar!", "the file is a RAR archive; extract it, or pack it as zip, and import that"},
	{"\xfd7zXZ", "the file is compressed with xz; decompress it, or use gzip or zstd, and import that"},
	{"\x04\x22\x4d\x18", "the file is compressed with LZ4; decompress it, or use gzip or zstd, and import that"},
	{"%PDF", "the file is a PDF document, which has no table of values; export the data as CSV or XLSX instead"},
	{"{\\rtf", "the file is a text document (RTF); export the data as CSV or XLSX instead"},
	{"SQLite format 3", "the file is an SQLite database; export its table as CSV, as with: sqlite3 -header -csv FILE \"select * from TABLE\""},
	{"\x00\x01\x00\x00Standard Jet", "the file is a database of Access; export its table as CSV or XLSX, and import that"},
	{"\x00\x01\x00\x00Standard ACE", "the file is a database of Access; export its table as CSV or XLSX, and import that"},
	{"\x89HDF", "the file is HDF5 or NetCDF; export its table as CSV or Parquet, and import that"},
	{"CDF\x01", "the file is NetCDF; export its table as CSV or Parquet, and import that"},
	{"CDF\x02", "the file is NetCDF; export its table as CSV or Parquet, and import that"},
	{"ARROW1", "the file is in the format of Arrow (Feather); write it as Parquet or CSV, and import that"},
	{"FEA1", "the file is in the format of Feather; write it as Parquet or CSV, and import that"},
	{"Obj\x01", "the file is in the format of Avro; write it as Parquet or CSV, and import that"},
	{"\"TOB1\"", "the file is a binary table of a Campbell logger (TOB1); convert it to TOA5 with LoggerNet's CardConvert, and import that"},
	{"\"TOB3\"", "the file is a binary table of a Campbell logger (TOB3); convert it to TOA5 with LoggerNet's CardConvert, and import that"},
	{"MATLAB 5.0 MAT", "the file is a workspace of MATLAB; export the table as CSV, and import that"},
	{"\x80\x02", "the file is an object of Python (pickle); write it as Parquet or CSV, and import that"},
	{"\x80\x03", "the file is an object of Python (pickle); write it as Parquet or CSV, and import that"},
	{"\x80\x04", "the file is an object of Python (pickle); write it as Parquet or CSV, and import that"},
	{"\x80\x05", "the file is an object of Python (pickle); write it as Parquet or CSV, and import that"},
	{"m[mi++]=", "the file is a script of a Solar-Log (min_day.js); export the day as CSV in its menu, or from the backup of the device, and import that"},
	{"\x89PNG", "the file is an image; export the data as CSV or XLSX instead"},
	{"\xff\xd8\xff", "the file is an image; export the data as CSV or XLSX instead"},
	{"GIF8", "the file is an image; export the data as CSV or XLSX instead"},
	{"II*\x00", "the file is an image; export the data as CSV or XLSX instead"},
	{"MM\x00*", "the file is an image; export the data as CSV or XLSX instead"},
	{"\x7fELF", "the file is a program, not data"},
	{"MZ\x90", "the file is a program, not data"},
}

// encrypted is the name of the stream in which Excel puts a workbook that is protected by a password, in UTF-16.
var encrypted = []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00")

// Refusal returns the error for data in a format that is not supported, nil for other data.
func Refusal(data []byte) error {
	for _, u := range unread {
		if !bytes.HasPrefix(data, []byte(u.prefix)) {
			continue
		}
		if u.prefix == "\xd0\xcf\x11\xe0" && bytes.Contains(data, encrypted) {
			return fail(Unsupported, "the workbook is protected by a password; remove the password in Excel (File, Info, Protect Workbook), and import it again")
		}
		return &Error{Unsupported, u.message}
	}
	return nil
}

// Unsupported office documents and other zip files that are no workbook, by a file in them.
var unreadZips = []struct{ file, message string }{
	{"xl/workbook.bin", "the file is a binary workbook of Excel (.xlsb); save it as .xlsx or CSV, and import that"},
	{"word/document.xml", "the file is a document of Word; export the data as CSV or XLSX instead"},
	{"ppt/presentation.xml", "the file is a presentation of PowerPoint; export the data as CSV or XLSX instead"},
	{"Index/Document.iwa", "the file is a document of Apple Numbers; export it as CSV or Excel, and import that"},
	{"META-INF/MANIFEST.MF", "the file is a program, not data"},
	{"AndroidManifest.xml", "the file is a program, not data"},
}
