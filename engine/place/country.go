package place

// otherCountries are names of countries in addition to those in the gazetteer,
// folded.
var otherCountries = map[string]string{
	"usa": "US", "u s a": "US", "united states of america": "US", "america": "US", "uk": "GB", "great britain": "GB", "england": "GB",
	"scotland": "GB", "wales": "GB", "northern ireland": "GB", "uae": "AE", "emirates": "AE", "czech republic": "CZ", "holland": "NL",
	"the netherlands": "NL", "korea": "KR", "republic of korea": "KR", "rsa": "ZA", "republic of south africa": "ZA", "turkey": "TR",
	"ivory coast": "CI", "russian federation": "RU", "viet nam": "VN", "burma": "MM", "swaziland": "SZ", "macedonia": "MK",
	"deutschland": "DE", "espana": "ES", "italia": "IT", "osterreich": "AT", "schweiz": "CH", "suisse": "CH", "brasil": "BR", "polska": "PL",
	"nederland": "NL", "belgie": "BE", "belgique": "BE", "norge": "NO", "sverige": "SE", "danmark": "DK", "suomi": "FI", "turkiye": "TR",
}

// states of the United States, folded.
var states = map[string]string{
	"alabama": "AL", "alaska": "AK", "arizona": "AZ", "arkansas": "AR", "california": "CA", "colorado": "CO", "connecticut": "CT",
	"delaware": "DE", "district of columbia": "DC", "florida": "FL", "georgia": "GA", "hawaii": "HI", "idaho": "ID", "illinois": "IL",
	"indiana": "IN", "iowa": "IA", "kansas": "KS", "kentucky": "KY", "louisiana": "LA", "maine": "ME", "maryland": "MD",
	"massachusetts": "MA", "michigan": "MI", "minnesota": "MN", "mississippi": "MS", "missouri": "MO", "montana": "MT", "nebraska": "NE",
	"nevada": "NV", "new hampshire": "NH", "new jersey": "NJ", "new mexico": "NM", "new york": "NY", "north carolina": "NC",
	"north dakota": "ND", "ohio": "OH", "oklahoma": "OK", "oregon": "OR", "pennsylvania": "PA", "rhode island": "RI",
	"south carolina": "SC", "south dakota": "SD", "tennessee": "TN", "texas": "TX", "utah": "UT", "vermont": "VT", "virginia": "VA",
	"washington": "WA", "west virginia": "WV", "wisconsin": "WI", "wyoming": "WY",
}
