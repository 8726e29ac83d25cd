package format

import (
	"archive/zip"
	"bytes"
	"errors"
	"os"
	"testing"
	"unicode/utf8"
)

// fuzzText is the text that the tables of a fuzzed file may have.
const fuzzText = 1 << 16

// checkTables asserts of any input: tables within the budget, in rows of UTF-8 if the input was, or one sentence.
func checkTables(t *testing.T, b *Budget, tables []Table, err error, valid bool) {
	t.Helper()
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Message == "" || len(e.Message) > 500 {
			t.Fatalf("no reason: %v", err)
		}
		return
	}
	total := 0
	for _, table := range tables {
		total += len(table.Text)
		if table.Format == "" || valid && !utf8.Valid(table.Text) {
			t.Fatalf("table %q of %q is no text", table.Name, table.Format)
		}
	}
	if int64(total) > b.maxText {
		t.Fatalf("%d bytes of text from a budget of %d", total, b.maxText)
	}
}

// fuzzParse fuzzes a reader of text with examples of its format.
func fuzzParse(f *testing.F, read func(text []byte, b *Budget) ([]Table, error), examples ...string) {
	for _, e := range examples {
		f.Add([]byte(e))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		b := NewBudget(fuzzText)
		tables, err := read(text, b)
		checkTables(t, b, tables, err, utf8.Valid(text))
	})
}

func FuzzParse(f *testing.F) {
	fuzzParse(f, Parse, "time,power\n2025-06-01 10:00,1\n", "<table><tr><td>a</td></tr></table>", "[1]", "2025-06-01 10:00  1.5\n2025-06-01 10:15  1.5\n")
}

func FuzzUnpack(f *testing.F) {
	data, err := os.ReadFile("testdata/excelize.xlsx")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range []string{string(data), "\x1f\x8b\x08\x00", "BZh91AY&SY", "\x28\xb5\x2f\xfd\x04\x00", "PK\x05\x06" + string(make([]byte, 18)), "PAR1\x00PAR1"} {
		f.Add([]byte(e))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		b := NewBudget(fuzzText)
		parts, err := Unpack(data, b)
		checkTables(t, b, nil, err, false)
		for _, p := range parts {
			checkTables(t, b, p.Tables, nil, false)
		}
	})
}

// inZip fuzzes one file of a workbook.
func inZip(f *testing.F, name string, others map[string]string, examples ...string) {
	fuzzParse(f, func(text []byte, b *Budget) ([]Table, error) {
		var buf bytes.Buffer
		z := zip.NewWriter(&buf)
		write := func(name string, text []byte) {
			if w, err := z.Create(name); err == nil {
				_, _ = w.Write(text)
			}
		}
		write(name, text)
		for name, text := range others {
			write(name, []byte(text))
		}
		_ = z.Close()
		r, err := zip.NewReader(bytes.NewReader(buf.Bytes()), int64(buf.Len()))
		if err != nil {
			return nil, nil
		}
		tables, _, err := readWorkbook(r, b)
		return tables, err
	}, examples...)
}

func FuzzXLSX(f *testing.F) {
	inZip(f, "xl/worksheets/sheet1.xml", map[string]string{
		"xl/workbook.xml":            `<workbook><sheets><sheet name="Data" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/sharedStrings.xml":       `<sst><si><t>Time</t></si></sst>`,
		"xl/styles.xml":              `<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
	}, `<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>kW</t></is></c></row><row r="9"><c s="1"><v>45809.4</v></c></row></sheetData><mergeCells><mergeCell ref="A1:B3"/></mergeCells>`)
}

func FuzzODS(f *testing.F) {
	inZip(f, "content.xml", map[string]string{"mimetype": "application/vnd.oasis.opendocument.spreadsheet"},
		`<table:table table:name="a"><table:table-row table:number-rows-repeated="3"><table:table-cell office:value-type="time" office:time-value="PT10H00M00S" table:number-columns-spanned="2"><text:p>x</text:p></table:table-cell><table:covered-table-cell/></table:table-row></table:table>`)
}

func FuzzHTML(f *testing.F) {
	fuzzParse(f, htmlTables, `<table><tr><th rowspan=2 colspan="2">a</th></tr><tr><td>1<td>&nbsp;2</tr><tr><td><table><tr><td>x</td></tr></table></table><script>"</script>`)
}

func FuzzXMLSpreadsheet(f *testing.F) {
	fuzzParse(f, xmlSheets, `<Workbook><Worksheet ss:Name="a"><Table><Row ss:Index="3"><Cell ss:Index="2" ss:MergeAcross="1"><Data ss:Type="Number">1E3</Data></Cell></Row></Table></Worksheet></Workbook>`)
}

func FuzzJSON(f *testing.F) {
	fuzzParse(f, parseJSON, `[{"time":"2025-06-01","v":{"a":1e3}}]`, `{"t":1,"v":2}`+"\n"+`{"t":2,"v":3}`, `{"time":[1,2],"p":[3,4]}`,
		`{"power":{"unit":"W","values":[{"date":"2025-06-01","value":null}]}}`, `{"data":{"resultType":"matrix","result":[{"metric":{"__name__":"p","a":"b"},"values":[[1,"2"]]}]}}`,
		`{"schema":{"fields":[{"name":"Time","type":"time"},{"name":"V","type":"number"}]},"data":{"values":[[1],[2]]}}`, `[{"target":"a","datapoints":[[1,2]]}]`,
		`[[{"entity_id":"sensor.a","state":"1","last_changed":"x"}]]`, `{"sensor.a":[{"s":"1","lu":2}]}`, `{"name":"m","tags":{"a":"b"},"columns":["time","p"],"values":[[1,2]]}`,
		`{"columns":["a"],"index":[1],"data":[[2]]}`, `{"w":{"2025-06-01 10:00":1}}`,
		`{"Body":{"Data":{"inverter/1":{"Data":{"EnergyReal_WAC_Sum_Produced":{"Unit":"Wh","Values":{"0":1,"300":2}}},"Start":"2025-06-20T00:00:00+02:00"}}},"Head":{}}`)
}

func FuzzLineProtocol(f *testing.F) {
	fuzzParse(f, lineProtocol, `pv,inverter=a\ b power=1.5,on=t,s="a,b" 1748736000000000000`+"\n")
}

func FuzzOpenMetrics(f *testing.F) {
	fuzzParse(f, openMetrics, "# TYPE p gauge\np_watts{a=\"b\\\"\",c=\"d\"} 1.5 1748736000.5 # {x=\"y\"} 1\np 2 1748736000000\n# EOF\n")
}

func FuzzNEM12(f *testing.F) {
	fuzzParse(f, nem12, "100,NEM12,202506021130,MDP1,RET1\n200,NMI1,B1,1,B1,N1,M,kWh,30,\n300,20250601,1,2,3,A\n400,1,3,A\n900\n")
}

func FuzzESPI(f *testing.F) {
	fuzzParse(f, espiTables, `<feed><entry><link rel="self" href="/UsagePoint/1/MeterReading/2"/><link rel="related" href="/ReadingType/3"/></entry><entry><link rel="self" href="/UsagePoint/1/MeterReading/2/IntervalBlock/1"/><IntervalReading><timePeriod><start>1748736000</start></timePeriod><value>5</value></IntervalReading></entry><entry><link rel="self" href="/ReadingType/3"/><ReadingType><uom>72</uom><flowDirection>19</flowDirection></ReadingType></entry></feed>`)
}

func FuzzTOA5(f *testing.F) {
	fuzzParse(f, toa5, "\"TOA5\",\"a\"\n\"TIMESTAMP\",\"RECORD\",\"P\"\n\"TS\",\"RN\",\"kW\"\n\"\",\"\",\"Avg\"\n\"2025-06-01 10:00:00\",1,\"NAN\"\n")
}

func FuzzHomeAssistant(f *testing.F) {
	fuzzParse(f, homeAssistantCSV, "entity_id,state,last_changed\nsensor.a_1_power,5,2025-06-01T10:00:00Z\n\"sensor.a_2_power\",unavailable,x\n")
}
