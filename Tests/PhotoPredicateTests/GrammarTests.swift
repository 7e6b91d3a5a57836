import PhotoModel
import PhotoPredicate
import Testing

@Suite("Predicate grammar")
struct GrammarTests {
  /// A predicate, and its printed normal form.
  static let goodForms: [(text: String, meaning: String)] = [
    ("TRUEPREDICATE", "TRUEPREDICATE"), ("falsepredicate", "FALSEPREDICATE"), ("(TRUEPREDICATE)", "TRUEPREDICATE"),
    // Relations, in each spelling.
    ("pixelWidth = 5", "pixelWidth == 5"), ("pixelWidth == 5", "pixelWidth == 5"),
    ("pixelWidth != 5", "pixelWidth != 5"), ("pixelWidth <> 5", "pixelWidth != 5"),
    ("pixelWidth<5", "pixelWidth < 5"), ("pixelWidth <= 5", "pixelWidth <= 5"), ("pixelWidth =< 5", "pixelWidth <= 5"),
    ("pixelWidth > 5", "pixelWidth > 5"), ("pixelWidth >= 5", "pixelWidth >= 5"),
    ("pixelWidth => 5", "pixelWidth >= 5"),
    // A value on the left.
    ("5 < pixelWidth", "pixelWidth > 5"), ("5 <= pixelWidth", "pixelWidth >= 5"), ("5 > pixelWidth", "pixelWidth < 5"),
    ("5 => pixelWidth", "pixelWidth <= 5"), ("5 = pixelWidth", "pixelWidth == 5"),
    ("5 <> pixelWidth", "pixelWidth != 5"),
    ("image == mediaType", "mediaType == image"), ("nil != burstIdentifier", "burstIdentifier != nil"),
    ("YES = isFavorite", "isFavorite == true"), ("'a' ==[c] originalFilename", "originalFilename ==[c] 'a'"),
    // Two keys.
    ("pixelWidth > pixelHeight", "pixelWidth > pixelHeight"),
    ("creationDate<>modificationDate", "creationDate != modificationDate"),
    ("duration >= pixelWidth", "duration >= pixelWidth"), ("isFavorite == isHidden", "isFavorite == isHidden"),
    ("originalFilename ==[c] burstIdentifier", "originalFilename ==[c] burstIdentifier"),
    ("pixelWidth & 1 == pixelHeight & 1", "pixelWidth & 1 == pixelHeight & 1"),
    // Numbers.
    ("fileSize == -9223372036854775808", "fileSize == -9223372036854775808"),
    ("fileSize == 9223372036854775807", "fileSize == 9223372036854775807"), ("fileSize == 0x1F", "fileSize == 31"),
    ("fileSize == -0X10", "fileSize == -16"), ("fileSize == 1e3", "fileSize == 1000"),
    ("fileSize > 1.5", "fileSize > 1.5"), ("duration > 1", "duration > 1.0"), ("duration > .5", "duration > 0.5"),
    ("duration > -.5e-3", "duration > -0.0005"), ("duration > 1E+3", "duration > 1000.0"),
    ("duration == 100000000000000000000", "duration == 1e+20"), ("latitude < -33.9628", "latitude < -33.9628"),
    ("duration == 1e-999", "duration == 0.0"),
    // Booleans.
    ("isFavorite == true", "isFavorite == true"), ("isFavorite == NO", "isFavorite == false"),
    ("favorite == yes", "isFavorite == true"), ("hidden != FALSE", "isHidden != false"),
    ("hasAdjustments == 1", "hasAdjustments == true"), ("representsBurst == 0", "representsBurst == false"),
    ("isFavorite IN {true}", "isFavorite IN {true}"),
    ("isRAW == YES AND addedDate > '2024-05-06T07:08:09Z'", "isRAW == true AND addedDate > '2024-05-06T07:08:09Z'"),
    // nil.
    ("burstIdentifier == nil", "burstIdentifier == nil"), ("burstIdentifier != NULL", "burstIdentifier != nil"),
    ("latitude = Null", "latitude == nil"), ("creationDate <> NIL", "creationDate != nil"),
    // Strings.
    (#"originalFilename == "a'b""#, #"originalFilename == 'a\'b'"#),
    (#"originalFilename == 'a"b'"#, #"originalFilename == 'a"b'"#),
    (#"originalFilename == 'a\\b\'c\"d\ne\rf\tg'"#, #"originalFilename == 'a\\b\'c"d\ne\rf\tg'"#),
    (#"originalFilename == '\u00e9\uD83D\ude00'"#, "originalFilename == '\u{E9}\u{1F600}'"),
    ("originalFilename == ''", "originalFilename == ''"), ("originalFilename < 'm'", "originalFilename < 'm'"),
    ("originalFilename BEGINSWITH 'IMG_'", "originalFilename BEGINSWITH 'IMG_'"),
    ("originalFilename endswith[c] '.jpg'", "originalFilename ENDSWITH[c] '.jpg'"),
    ("originalFilename Contains [ C ] \"x\"", "originalFilename CONTAINS[c] 'x'"),
    ("originalFilename LIKE '*_00??.*'", "originalFilename LIKE '*_00??.*'"),
    ("originalFilename LIKE[c] 'a\\\\*'", "originalFilename LIKE[c] 'a\\\\*'"),
    ("originalFilename ==[d] 'a'", "originalFilename ==[d] 'a'"),
    ("originalFilename CONTAINS[cd] 'a'", "originalFilename CONTAINS[cd] 'a'"),
    ("originalFilename BEGINSWITH [DC] 'a'", "originalFilename BEGINSWITH[cd] 'a'"),
    ("originalFilename !=[c] 'a'", "originalFilename !=[c] 'a'"),
    ("originalFilename IN[c] {'a', \"b\"}", "originalFilename IN[c] {'a', 'b'}"),
    ("originalFilename BETWEEN[c] {'a', 'b'}", "originalFilename BETWEEN[c] {'a', 'b'}"),
    ("burstIdentifier BEGINSWITH 'x'", "burstIdentifier BEGINSWITH 'x'"),
    // Properties that people write, and lists of texts.
    ("title BEGINSWITH[c] 'sea' AND rating >= 4", "title BEGINSWITH[c] 'sea' AND rating >= 4"),
    ("rating == nil OR rating == -1", "rating == nil OR rating == -1"),
    ("cameraMake == 'M' AND cameraModel != nil", "cameraMake == 'M' AND cameraModel != nil"),
    ("lensModel CONTAINS '50' OR caption == nil", "lensModel CONTAINS '50' OR caption == nil"),
    ("any keywords = 'sea'", "ANY keywords == 'sea'"), ("keywords CONTAINS 'sea'", "ANY keywords == 'sea'"),
    ("keywords contains[c] 'sea'", "ANY keywords ==[c] 'sea'"), ("ANY keywords != 'sea'", "ANY keywords != 'sea'"),
    ("ANY keywords CONTAINS 'sea'", "ANY keywords CONTAINS 'sea'"),
    ("ANY keywords LIKE[c] 's*a' OR isRAW == 1", "ANY keywords LIKE[c] 's*a' OR isRAW == true"),
    ("NOT ANY keywords IN {'a', 'b'}", "NOT ANY keywords IN {'a', 'b'}"),
    ("(ANY keywords BETWEEN {'a', 'b'})", "ANY keywords BETWEEN {'a', 'b'}"),
    ("keywords == nil AND keywords != nil", "keywords == nil AND keywords != nil"),
    // BETWEEN and IN.
    ("pixelWidth BETWEEN {100, 200}", "pixelWidth BETWEEN {100, 200}"),
    ("pixelWidth between{200,100}", "pixelWidth BETWEEN {200, 100}"),
    ("pixelWidth IN {}", "pixelWidth IN {}"), ("pixelWidth in { 1 , (2), 0x3 }", "pixelWidth IN {1, 2, 3}"),
    ("mediaType IN {image, 2, 'audio'}", "mediaType IN {image, video, audio}"),
    // Dates.
    ("creationDate > '2024-05-06T07:08:09Z'", "creationDate > '2024-05-06T07:08:09Z'"),
    ("creationDate > \"2024-05-06t09:08:09.1239+02:00\"", "creationDate > '2024-05-06T07:08:09.123Z'"),
    ("creationDate > '2024-05-06 00:08:09-07:00'", "creationDate > '2024-05-06T07:08:09Z'"),
    ("CAST(\"2024-05-06T07:08:09Z\", \"NSDate\") <= modificationDate", "modificationDate >= '2024-05-06T07:08:09Z'"),
    ("creationDate == cast ( 736672089.5 , 'NSDate' )", "creationDate == '2024-05-06T07:08:09.500Z'"),
    ("creationDate == CAST(0, \"NSDate\")", "creationDate == '2001-01-01T00:00:00Z'"),
    (
      "creationDate BETWEEN {'2024-01-01T00:00:00Z', '2024-12-31T23:59:60Z'}",
      "creationDate BETWEEN {'2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z'}"
    ),
    // Enumerations.
    ("mediaType == 1", "mediaType == image"), ("mediaType = 'video'", "mediaType == video"),
    ("mediaType != PHAssetMediaTypeAudio", "mediaType != audio"), ("mediaType > 0", "mediaType > unknown"),
    // Bits.
    ("(mediaSubtypes & photoPanorama) != 0", "mediaSubtypes & photoPanorama != 0"),
    ("mediaSubtypes & 1 == 1", "mediaSubtypes & photoPanorama == photoPanorama"),
    ("(photoLive & mediaSubtypes) > 0", "mediaSubtypes & photoLive > 0"),
    ("0 != (mediaSubtypes & PHAssetMediaSubtypePhotoHDR)", "mediaSubtypes & photoHDR != 0"),
    ("mediaSubtypes & (photoHDR | photoLive | 0x10000) != 0", "mediaSubtypes & 65546 != 0"),
    ("((photoHDR|1) & mediaSubtypes) == (1|2)", "mediaSubtypes & 3 == 3"),
    ("mediaSubtypes & 7 & 6 == 2", "mediaSubtypes & 6 == photoHDR"), ("mediaSubtypes == 0", "mediaSubtypes == 0"),
    ("mediaSubtypes IN {photoHDR, 8 | 2}", "mediaSubtypes IN {photoHDR, 10}"),
    ("pixelWidth & 1 == 0", "pixelWidth & 1 == 0"), ("(((pixelWidth))) == ((5))", "pixelWidth == 5"),
    // AND, OR, NOT.
    ("isFavorite == 1 AND isHidden == 0", "isFavorite == true AND isHidden == false"),
    ("isFavorite==1&&isHidden==0||pixelWidth>5", "isFavorite == true AND isHidden == false OR pixelWidth > 5"),
    (
      "pixelWidth > 5 or isFavorite == 1 and isHidden == 0",
      "pixelWidth > 5 OR isFavorite == true AND isHidden == false"
    ),
    (
      "(pixelWidth > 5 OR isFavorite == 1) AND isHidden == 0",
      "(pixelWidth > 5 OR isFavorite == true) AND isHidden == false"
    ),
    (
      "pixelWidth > 5 AND (pixelWidth < 9 AND isHidden == 0)", "pixelWidth > 5 AND pixelWidth < 9 AND isHidden == false"
    ),
    ("NOT isFavorite == 1 AND isHidden == 0", "NOT isFavorite == true AND isHidden == false"),
    ("NOT (isFavorite == 1 AND isHidden == 0)", "NOT (isFavorite == true AND isHidden == false)"),
    ("!isFavorite == 1", "NOT isFavorite == true"), ("not ! (pixelWidth in {5})", "NOT NOT pixelWidth IN {5}"),
    ("NOT((isFavorite == 1))OR(TRUEPREDICATE)", "NOT isFavorite == true OR TRUEPREDICATE"),
    ("\t\n pixelWidth\r==\u{B}5 \u{C}", "pixelWidth == 5"),
  ]

  @Test("each valid predicate is parsed to its meaning", arguments: goodForms)
  func good(_ text: String, _ meaning: String) throws {
    let predicate = try FetchPredicate(text, schema: .asset, principal: .local)
    #expect(Array("\(predicate)".utf8) == Array(meaning.utf8))
    #expect(try FetchPredicate("\(predicate)", schema: .asset, principal: .local) == predicate)
  }

  static let collectionForms: [(text: String, meaning: String)] = [
    ("localizedTitle CONTAINS[c] 'trip'", "title CONTAINS[c] 'trip'"), ("title == nil", "title == nil"),
    ("type == album", "type == album"), ("assetCollectionType == 2", "type == smartAlbum"),
    ("type == PHCollectionListTypeFolder", "type == folder"),
    ("type IN {moment, folder}", "type IN {moment, folder}"),
    ("subtype == smartAlbumUserLibrary", "subtype == smartAlbumUserLibrary"),
    ("subtype IN {smartAlbumHDR, momentListYear}", "subtype IN {smartAlbumHDR, momentListYear}"),
    ("subtype == 203", "subtype == smartAlbumFavorites"),
    ("subtype == PHAssetCollectionSubtypeSmartAlbumRAW", "subtype == smartAlbumRAW"),
    ("estimatedAssetCount > 0 AND startDate < endDate", "estimatedAssetCount > 0 AND startDate < endDate"),
  ]

  @Test("predicates on collections use the keys of collections", arguments: collectionForms)
  func collection(_ text: String, _ meaning: String) throws {
    #expect("\(try FetchPredicate(text, schema: .collection, principal: .anonymous))" == meaning)
  }

  static let operators = "==, !=, <, <=, >, >=, BETWEEN or IN"
  static let stringOperators = "==, !=, <, <=, >, >=, BETWEEN, IN, BEGINSWITH, ENDSWITH, CONTAINS or LIKE"
  static let integerOperators = "==, !=, <, <=, >, >=, BETWEEN, IN or &"
  static let mediaTypes = "one of unknown, image, video or audio, or PhotoKit's number, for mediaType"
  static let date = "a quoted date such as \"2024-05-06T07:08:09Z\" for creationDate"
  static let filename = "a quoted string for originalFilename"
  static let width = "a number from -9223372036854775808 to 9223372036854775807 for pixelWidth"
  static let bits = "one of photoPanorama, photoHDR"
  static let favorite = "true or false for isFavorite"

  /// A predicate, the offset of its error, the beginning of the expected text, and the found text.
  static let badForms: [(text: String, offset: Int, expected: String, found: String)] = [
    // The text ends too early.
    ("", 0, "a comparison", ""), ("   ", 3, "a comparison", ""), ("pixelWidth", 10, integerOperators, ""),
    ("pixelWidth ==", 13, width, ""), ("pixelWidth == 5 AND", 19, "a comparison", ""), ("NOT", 3, "a comparison", ""),
    ("(pixelWidth == 5", 16, "AND, OR or )", ""),
    ("((pixelWidth)", 13, integerOperators.replacing(" or &", with: ", & or )"), ""),
    ("pixelWidth BETWEEN", 18, "{ and values in braces", ""), ("pixelWidth BETWEEN {1", 21, ",", ""),
    ("pixelWidth BETWEEN {1, 2", 24, "}", ""), ("pixelWidth IN {1", 16, ", or }", ""),
    ("pixelWidth IN {1,", 17, width, ""),
    ("originalFilename LIKE[", 22, "c]", ""), ("originalFilename LIKE[c", 23, "]", ""), ("5 <", 3, "a key (", ""),
    ("isFavorite", 10, "==, != or IN", ""), ("5", 1, "==, !=, <, <=, > or >=", ""),
    // Text after the end.
    ("pixelWidth == 5 6", 16, "AND, OR or the end", "6"), ("pixelWidth == 5)", 15, "AND, OR or the end", ")"),
    ("(pixelWidth == 5 6)", 17, "AND, OR or )", "6"), ("TRUEPREDICATE == 1", 14, "AND, OR or the end", "=="),
    ("pixelWidth == 5 == 6", 16, "AND, OR or the end", "=="),
    ("pixelWidth == 5 AND AND isHidden == 0", 20, "a comparison", "AND"),
    ("pixelWidth IN {1, }", 18, width, "}"), ("pixelWidth IN {,}", 15, width, ","),
    ("pixelWidth IN {1 2}", 17, ", or }", "2"),
    ("pixelWidth BETWEEN {1, 2, 3}", 24, "}", ","), ("pixelWidth BETWEEN {1}", 21, ",", "}"),
    ("()", 1, "a comparison", ")"), ("pixelWidth == ()", 15, width, ")"),
    // Keys.
    ("foo == 1", 0, "a key (localIdentifier, creationDate", "foo"), ("pixelwidth == 1", 0, "a key (", "pixelwidth"),
    ("1 == foo", 5, "a key (", "foo"), ("1 == 1", 0, "a key (", "1"), ("image == video", 0, "a key (", "image"),
    ("'a' IN {'a'}", 0, "a key (", "'a'"), ("'a' BEGINSWITH originalFilename", 0, "a key (", "'a'"),
    ("SELF == 'a'", 0, "a key (", "SELF"), ("ANY pixelWidth == 1", 4, "a key (", "pixelWidth"),
    ("1 == TRUEPREDICATE", 5, "a key (", "TRUEPREDICATE"), ("pixelWidth == foo", 14, width, "foo"),
    ("%K == 1", 0, "a comparison", "%"), ("$x == 1", 0, "a comparison", "$"), ("pixelWidth == %d", 14, width, "%"),
    ("\u{E9} == 1", 0, "a comparison", "\u{E9}"), ("asset.pixelWidth == 1", 0, "a key (", "asset"),
    ("pixelWidth.x == 1", 10, integerOperators, "."),
    ("pixelWidth == 5; DROP TABLE asset", 15, "AND, OR or the end", ";"),
    ("startDate == nil", 0, "a key (", "startDate"),
    // Lists of texts.
    ("ANY", 3, "a key (keywords)", ""), ("ANY keywords", 12, stringOperators, ""),
    ("ANY title == 'a'", 4, "a key (keywords)", "title"), ("ANY 'a' == keywords", 4, "a key (keywords)", "'a'"),
    ("ANY keywords == nil", 16, "a quoted string for keywords", "nil"),
    ("ANY keywords == 5", 16, "a quoted string for keywords", "5"),
    ("ANY keywords == title", 13, "a quoted string for keywords", "=="),
    ("ANY keywords & 1 == 1", 13, stringOperators, "&"), ("ANY keywords MATCHES 'a'", 13, stringOperators, "MATCHES"),
    ("keywords == 'a'", 12, "keywords CONTAINS and a quoted string, or ANY before keywords, or nil", "'a'"),
    ("keywords", 8, "CONTAINS, == nil or != nil", ""), ("keywords < 'a'", 9, "CONTAINS, == nil or != nil", "<"),
    ("keywords BEGINSWITH 'a'", 9, "CONTAINS, == nil or != nil", "BEGINSWITH"),
    ("keywords IN {'a'}", 9, "CONTAINS, == nil or != nil", "IN"),
    ("keywords BETWEEN {'a', 'b'}", 9, "CONTAINS, == nil or != nil", "BETWEEN"),
    ("keywords CONTAINS 5", 18, "a quoted string for keywords", "5"),
    ("keywords == keywords", 12, "keywords CONTAINS", "keywords"),
    ("title == keywords", 9, "a quoted string for title", "keywords"),
    // Operators that do not apply to a type.
    ("isFavorite > 0", 11, "==, != or IN", ">"), ("isFavorite BETWEEN {0, 1}", 11, "==, != or IN", "BETWEEN"),
    ("0 < isFavorite", 2, "==, != or IN", "<"), ("pixelWidth LIKE '5'", 11, integerOperators, "LIKE"),
    ("creationDate BEGINSWITH '2024'", 13, operators, "BEGINSWITH"),
    ("mediaType CONTAINS 'i'", 10, operators, "CONTAINS"),
    ("originalFilename MATCHES 'a'", 17, stringOperators, "MATCHES"),
    ("originalFilename NOT IN {'a'}", 17, stringOperators, "NOT"),
    ("isFavorite AND isHidden == 0", 11, "==, != or IN", "AND"), ("pixelWidth ~ 5", 11, integerOperators, "~"),
    ("pixelWidth + 5 == 6", 11, integerOperators, "+"), ("pixelWidth % 2 == 0", 11, integerOperators, "%"),
    ("pixelWidth === 5", 13, width, "="), ("pixelWidth !== 5", 13, width, "="), ("pixelWidth = = 5", 13, width, "="),
    ("originalFilename =[c 'a'", 21, "]", "'a'"), ("originalFilename CONTAINS[ce] 'a'", 26, "c], d] or cd]", "ce"),
    ("originalFilename CONTAINS[n] 'a'", 26, "c]", "n"), ("originalFilename CONTAINS[] 'a'", 26, "c]", "]"),
    ("pixelWidth ==[c] 5", 13, width, "["), ("creationDate IN[c] {}", 15, date, "["),
    ("5 ==[c] pixelWidth", 4, width, "["),
    ("mediaType ==[c] image", 12, mediaTypes, "["),
    // Values of another type.
    ("creationDate > 5", 15, date, "5"), ("creationDate > 'yesterday'", 16, date, "yesterday'"),
    ("creationDate > '2024-05-06'", 26, date, "'"), ("creationDate > '2024-05-06T07:08:09'", 35, date, "'"),
    ("creationDate > '2024-05-06T07:08:09 02:00'", 35, date, " 02:00'"),
    ("creationDate > '2024-02-30T00:00:00Z'", 24, date, "30T00:00:00Z'"),
    ("creationDate > '2023-02-29T00:00:00Z'", 24, date, "29T00:00:00Z'"),
    ("creationDate > '2024-13-01T00:00:00Z'", 21, date, "13-01T00:00:00Z'"),
    ("creationDate > '2024-05-06T24:00:00Z'", 27, date, "24:00:00Z'"),
    ("creationDate > '2024-05-06T07:08:09.Z'", 36, date, "Z'"),
    ("creationDate > '2024-05-06T07:08:09+2:00'", 37, date, ":00'"),
    ("creationDate > '2024-05-06T07:08:09Zx'", 36, date, "x'"),
    (#"creationDate > '\u0032024-05-06'"#, 15, date, #"'\u0032024-05-06'"#), ("creationDate > true", 15, date, "true"),
    ("creationDate > pixelWidth", 15, date, "pixelWidth"), ("creationDate > nil", 15, date, "nil"),
    ("pixelWidth == '5'", 14, width, "'5'"), ("pixelWidth == true", 14, width, "true"),
    ("pixelWidth == nil", 14, width, "nil"),
    ("pixelWidth == image", 14, width, "image"), ("pixelWidth == CAST(0, 'NSDate')", 14, width, "CAST(0, 'NSDate')"),
    ("pixelWidth == mediaType", 14, width, "mediaType"), ("pixelWidth IN {1, pixelHeight}", 18, width, "pixelHeight"),
    ("originalFilename == 5", 20, filename, "5"), ("originalFilename == IMG", 20, filename, "IMG"),
    ("originalFilename LIKE 5", 22, filename, "5"), ("originalFilename == nil", 20, filename, "nil"),
    ("originalFilename BEGINSWITH burstIdentifier", 28, filename, "burstIdentifier"),
    ("burstIdentifier == 5", 19, "a quoted string for burstIdentifier, or nil", "5"),
    ("burstIdentifier < nil", 18, "a quoted", "nil"),
    ("burstIdentifier IN {nil}", 20, "a quoted string", "nil"), ("isFavorite == 2", 14, favorite, "2"),
    ("isFavorite == 'YES'", 14, favorite, "'YES'"), ("isFavorite == 1.0", 14, favorite, "1.0"),
    ("isFavorite == -1", 14, favorite, "-1"),
    ("mediaType == 4", 13, mediaTypes, "4"), ("mediaType == picture", 13, mediaTypes, "picture"),
    ("mediaType == Image", 13, mediaTypes, "Image"),
    ("mediaType == 'picture'", 13, mediaTypes, "'picture'"), ("mediaType == photoHDR", 13, mediaTypes, "photoHDR"),
    ("mediaType == (1|2)", 14, mediaTypes, "1|2"), ("mediaType IN {image, 9}", 21, mediaTypes, "9"),
    ("duration == 'long'", 12, "a number for duration", "'long'"), ("duration & 1 == 1", 9, operators, "&"),
    // Numbers.
    ("pixelWidth == 9223372036854775808", 14, width, "9223372036854775808"), ("pixelWidth == 1e30", 14, width, "1e30"),
    ("pixelWidth == -9223372036854775809", 14, width, "-9223372036854775809"),
    ("duration == 1e999", 12, "a number between", "1e999"), ("duration == 5.", 14, "a digit", ""),
    ("duration == .", 12, "a number for duration", "."),
    ("duration == -", 13, "a digit", ""), ("duration == - 5", 13, "a digit", " "),
    ("duration == 1e", 14, "a digit", ""),
    ("duration == 1e+x", 15, "a digit", "x"), ("duration == 5abc", 13, "a digit", "abc"),
    ("duration == 1.2.3", 15, "a digit", "."),
    ("pixelWidth == 0x", 16, "a digit", ""), ("pixelWidth == 0xG", 16, "a digit", "G"),
    ("pixelWidth == 0x8000000000000000", 14, "a number from -9223372036854775808", "0x8000000000000000"),
    ("duration == +5", 12, "a number for duration", "+"), ("duration == NaN", 12, "a number for duration", "NaN"),
    ("duration == infinity", 12, "a number for duration", "infinity"),
    // Bits.
    ("mediaSubtypes & photoFoo != 0", 16, bits, "photoFoo"), ("mediaSubtypes & image != 0", 16, bits, "image"),
    ("mediaSubtypes == -1", 17, bits, "-1"),
    ("mediaSubtypes & 1.5 != 0", 16, bits, "1.5"), ("mediaSubtypes | 1 != 0", 14, integerOperators, "|"),
    ("photoHDR | photoLive & mediaSubtypes != 0", 21, "parentheses", "&"),
    ("mediaSubtypes & photoHDR | photoLive != 0", 25, integerOperators, "|"),
    ("mediaSubtypes & pixelWidth != 0", 16, bits, "pixelWidth"),
    ("1 & 2 == 2", 4, "a key (", "2"),
    ("1 & isFavorite == 2", 4, "a key (mediaSubtypes, pixelWidth, pixelHeight, fileSize or rating)", "isFavorite"),
    ("mediaSubtypes & (photoHDR | pixelWidth) != 0", 28, "a number or a name", "pixelWidth"),
    ("mediaSubtypes & 1", 17, integerOperators, ""),
    ("mediaSubtypes CONTAINS photoHDR", 14, integerOperators, "CONTAINS"),
    ("mediaSubtypes & (1 2) == 1", 19, "| or )", "2"),
    ("(mediaSubtypes & 1) == nil", 23, bits, "nil"), ("pixelWidth & (1 | photoHDR) == 1", 18, width, "photoHDR"),
    // Strings.
    ("originalFilename == 'abc", 24, "the closing '", ""), ("originalFilename == \"abc'", 25, "the closing \"", ""),
    (#"originalFilename == 'a\'"#, 24, "the closing '", ""), (#"originalFilename LIKE 'a\*'"#, 24, "n, r, t", #"\*"#),
    (#"originalFilename == '\"#, 21, "n, r, t", #"\"#), (#"originalFilename == '\u12'"#, 21, "n, r, t", #"\u"#),
    (#"originalFilename == '\ud800'"#, 21, "n, r, t", #"\u"#),
    (#"originalFilename == '\ud800\u0041'"#, 21, "n, r, t", #"\u"#),
    (#"originalFilename == '\u0000'"#, 21, "no U+0000", #"\u0000"#),
    ("originalFilename == 'a\0b'", 22, "no U+0000", "\0"), ("originalFilename == `a`", 20, filename, "`"),
    ("originalFilename == 'a' 'b'", 24, "AND, OR or the end", "'b'"),
    // Lists, braces, casts.
    ("pixelWidth IN (1, 2)", 14, "{ and values in braces", "("), ("pixelWidth IN [1]", 15, "c]", "1"),
    ("pixelWidth == {1}", 14, width, "{"),
    ("creationDate > CAST 5", 20, "(", "5"), ("creationDate > CAST()", 20, "a quoted date", ")"),
    ("creationDate > CAST('x', 'NSDate')", 21, "a quoted date", "x'"),
    ("creationDate > CAST(1, 'NSNumber')", 23, "\"NSDate\"", "'NSNumber'"),
    ("creationDate > CAST(1 'NSDate')", 22, ",", "'NSDate'"),
    ("creationDate > CAST(1, 'NSDate'", 31, ")", ""),
    ("creationDate > CAST(1e300, 'NSDate')", 20, "a quoted date", "1e300"),
    ("creationDate > CAST(creationDate, 'NSDate')", 20, "a quoted date", "creationDate"),
    // Offsets count Unicode scalars.
    ("originalFilename == '\u{1F600}e\u{301}' x", 26, "AND, OR or the end", "x"),
    ("originalFilename == 'a' \u{1F469}\u{200D}\u{1F469}", 24, "AND, OR or the end", "\u{1F469}"),
  ]

  @Test("an invalid predicate gives an error with its offset, the expected and the found text", arguments: badForms)
  func bad(_ text: String, _ offset: Int, _ expected: String, _ found: String) {
    let error = #expect(throws: PredicateError.self) {
      try FetchPredicate(text, schema: .asset, principal: .local)
    }
    #expect(error?.offset == offset)
    #expect(error?.expected.description.hasPrefix(expected) == true, "\(error?.expected.description ?? "")")
    #expect(error?.found == found)
  }

  @Test(
    "a location key is an unknown key for a principal without the scope location",
    arguments: [
      ("latitude == 1", 0), ("1 == longitude", 5), ("isFavorite == 1 AND latitude != nil", 20),
      ("duration < latitude", 11),
      ("TRUEPREDICATE OR latitude > 5", 17),
    ])
  func places(_ text: String, _ offset: Int) throws {
    _ = try FetchPredicate(text, schema: .asset, principal: .local)
    let error = #expect(throws: PredicateError.self) {
      try FetchPredicate(text, schema: .asset, principal: .anonymous)
    }
    #expect(error?.offset == offset)
    let unknown = #expect(throws: PredicateError.self) {
      try FetchPredicate(text.replacing("itude", with: "etude"), schema: .asset, principal: .anonymous)
    }
    #expect(error?.expected == unknown?.expected && unknown?.offset == offset)
    #expect(error?.expected.description.contains("itude") == false)
  }

  @Test("the description of an error is a sentence with offset, expectation and finding")
  func sentence() {
    let error = #expect(throws: PredicateError.self) {
      try FetchPredicate("isFavorite == maybe", schema: .asset, principal: .local)
    }
    #expect(
      error?.description == "At character 14, counted from 0: expected true or false for isFavorite, found maybe.")
    let ended = #expect(throws: PredicateError.self) { try FetchPredicate("NOT", schema: .asset, principal: .local) }
    #expect(ended?.description.hasSuffix("found the end.") == true)
  }
}
