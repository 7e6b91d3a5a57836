import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

@Suite("Predicate printing, limits, sort descriptors and normal forms")
struct LanguageTests {
  @Test("a printed predicate parses to the same predicate", arguments: 0..<10)
  func printed(_ seed: Int) throws {
    var dice = Dice(seed + 2000)
    for schema in [PropertySchema.asset, .collection] {
      for _ in 0..<500 {
        let predicate = dice.predicate(schema)
        let text = "\(predicate)"
        let read = try FetchPredicate(text, schema: schema, principal: .local)
        #expect(read == predicate, "\(text)")
        // Swift compares strings by canonical equivalence, predicates by code point.
        #expect(Array("\(read)".utf8) == Array(text.utf8))
      }
    }
  }

  static let words = [
    "AND", "OR", "NOT", "&&", "||", "!", "(", ")", "{", "}", "[c]", "[", "]", ",", "==", "=", "!=", "<>", "<", "<=",
    ">", ">=", "IN",
    "ANY", "keywords", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "TRUEPREDICATE", "FALSEPREDICATE", "&",
    "|", "5", "-1",
    "1.5", "1e9",
    "'a'", "\"*?\"", "'", "\\", "true", "NO", "nil", "image", "photoHDR", "CAST", "'NSDate'", "'2024-05-06T07:08:09Z'",
    "creationDate",
    "mediaType", "mediaSubtypes", "pixelWidth", "isFavorite", "originalFilename", "burstIdentifier", "latitude",
    "duration", "foo",
    "%@", "$x", "\u{E9}", "\u{1F469}\u{200D}\u{1F469}", "\0", "\u{301}", "0x", "-", ".", ";", "#",
  ]

  @Test("random text either parses or gives an error within the text", arguments: 0..<20)
  func nonsense(_ seed: Int) {
    var dice = Dice(seed + 3000)
    for _ in 0..<1000 {
      let separator = dice.oneIn(4) ? "" : " "
      var text = (0..<dice.below(24)).map { _ in dice.one(of: Self.words) }.joined(separator: separator)
      if dice.oneIn(3), !text.isEmpty {
        // The beginning of a valid predicate before random words.
        let predicate = Array("\(dice.predicate(.asset))".unicodeScalars)
        var mixed = String.UnicodeScalarView(predicate.prefix(dice.below(predicate.count + 1)))
        mixed.append(contentsOf: text.unicodeScalars)
        text = String(mixed)
      }
      check(text) { text in "\(try FetchPredicate(text, schema: .asset, principal: .local))" }
      check(text) { text in "\(try FetchSortDescriptors(text, schema: .asset, principal: .local))" }
    }
  }

  private func check(_ text: String, _ read: (String) throws -> String) {
    do {
      let meaning = try read(text)
      #expect(throws: Never.self) { try read(meaning) }
    } catch let error as PredicateError {
      #expect((0...text.unicodeScalars.count).contains(error.offset), "\(text)")
      let rest = text.unicodeScalars.dropFirst(error.offset)
      #expect(rest.starts(with: error.found.unicodeScalars) && error.found.unicodeScalars.count <= 24, "\(text)")
      #expect(error.found.isEmpty == rest.isEmpty && !"\(error.expected)".isEmpty, "\(text)")
    } catch {
      Issue.record("\(error)")
    }
  }

  // MARK: Limits

  @Test("the error for an exceeded limit names the limit")
  func limits() throws {
    var limits = PredicateLimits()
    limits.characters = 100
    limits.depth = 3
    limits.terms = 4
    limits.listValues = 3
    limits.wildcards = 2
    limits.sortKeys = 2
    func check(_ good: String, _ bad: String, _ offset: Int, _ limit: String) throws {
      _ = try FetchPredicate(good, schema: .asset, principal: .local, limits: limits)
      let error = #expect(throws: PredicateError.self) {
        try FetchPredicate(bad, schema: .asset, principal: .local, limits: limits)
      }
      #expect(error?.offset == offset && error?.expected.description == limit, "\(error?.description ?? "")")
    }
    let padding = String(repeating: " ", count: 85)
    try check("pixelWidth == 5" + padding, "pixelWidth == 5" + padding + " ", 100, "at most 100 characters")
    try check("(((TRUEPREDICATE)))", "((((TRUEPREDICATE))))", 3, "at most 3 ( and NOT within each other")
    try check("NOT !(TRUEPREDICATE)", "NOT !((TRUEPREDICATE))", 6, "at most 3 ( and NOT within each other")
    try check(
      "(((1))) == pixelWidth AND (((2))) == pixelWidth", "pixelWidth == ((((1))))", 17,
      "at most 3 ( and NOT within each other")
    try check(
      "TRUEPREDICATE OR 1 = pixelWidth OR TRUEPREDICATE OR TRUEPREDICATE",
      "TRUEPREDICATE OR 1 = pixelWidth OR TRUEPREDICATE OR TRUEPREDICATE OR 1 = pixelWidth", 69,
      "at most 4 comparisons")
    try check("pixelWidth IN {1, 2, 3}", "pixelWidth IN {1, 2, 3, 4}", 24, "at most 3 values in braces")
    try check(
      "originalFilename LIKE '*?\\\\*'", "originalFilename LIKE '*?*'", 22, "at most 2 * and ? in a pattern")
    _ = try FetchSortDescriptors("duration,fileSize", schema: .asset, principal: .local, limits: limits)
    let error = #expect(throws: PredicateError.self) {
      try FetchSortDescriptors("duration,fileSize,isHidden", schema: .asset, principal: .local, limits: limits)
    }
    #expect(error?.offset == 18 && error?.expected == .atMost(2, of: "keys to sort by"))
  }

  // MARK: Sort descriptors

  @Test(
    "sort descriptors are parsed, and ties are broken by localIdentifier",
    arguments: [
      ("creationDate", "creationDate"), ("-creationDate,originalFilename", "-creationDate,originalFilename"),
      (" - creationDate , favorite ", "-creationDate,isFavorite"), ("mediaSubtypes,-hidden", "mediaSubtypes,-isHidden"),
      ("-localIdentifier", "-localIdentifier"), ("latitude", "latitude"),
    ])
  func sorted(_ text: String, _ meaning: String) throws {
    let sort = try FetchSortDescriptors(text, schema: .asset, principal: .local)
    #expect("\(sort)" == meaning)
    #expect(sort.total.count { $0.key.name == "localIdentifier" } == 1)
    #expect(sort.total.dropLast(sort.total.count - sort.descriptors.count) == sort.descriptors[...])
    if !meaning.contains("localIdentifier") {
      #expect(sort.total.last?.key.name == "localIdentifier" && sort.total.last?.isAscending == true)
    }
  }

  @Test(
    "each invalid sort descriptor gives an error with its offset",
    arguments: [
      ("", 0, "a key (", ""), ("-", 1, "a key (", ""), ("foo", 0, "a key (localIdentifier", "foo"),
      ("creationDate,", 13, "a key (", ""),
      ("creationDate;duration", 12, ", or the end", ";"), ("creationDate DESC", 13, ", or the end", "DESC"),
      ("--creationDate", 1, "a key (", "-"),
      ("creationDate,-creationDate", 14, "a key (localIdentifier, modificationDate", "creationDate"),
      ("favorite,isFavorite", 9, "a key (", "isFavorite"),
      (",creationDate", 0, "a key (", ","), ("+creationDate", 0, "a key (", "+"),
      ("creationDate,latitude", 13, "a key (localIdentifier", "latitude"), ("'a'", 0, "a key (", "'a'"),
      ("and", 0, "a key (", "and"),
    ])
  func unsorted(_ text: String, _ offset: Int, _ expected: String, _ found: String) {
    let error = #expect(throws: PredicateError.self) {
      try FetchSortDescriptors(text, schema: .asset, principal: .anonymous)
    }
    #expect(error?.offset == offset && error?.found == found)
    #expect(error?.expected.description.hasPrefix(expected) == true, "\(error?.expected.description ?? "")")
  }

  // MARK: Normal forms and requirements

  @Test(
    "normalising moves NOT inwards and removes constants",
    arguments: [
      ("NOT (isFavorite == 1 OR isHidden != 0)", "isFavorite == false AND isHidden == false"),
      ("NOT NOT isFavorite != 1", "isFavorite == false"), ("NOT pixelWidth < 5", "pixelWidth >= 5"),
      ("NOT creationDate < '2024-05-06T07:08:09Z'", "NOT creationDate < '2024-05-06T07:08:09Z'"),
      ("NOT burstIdentifier == 'a'", "burstIdentifier != 'a'"),
      ("NOT burstIdentifier == nil", "burstIdentifier != nil"),
      ("NOT pixelWidth IN {1}", "NOT pixelWidth IN {1}"), ("NOT (TRUEPREDICATE OR isFavorite == 1)", "FALSEPREDICATE"),
      ("isFavorite == 1 AND (TRUEPREDICATE AND NOT FALSEPREDICATE)", "isFavorite == true"),
      ("NOT pixelWidth > pixelHeight", "pixelWidth <= pixelHeight"),
      ("NOT latitude > longitude", "NOT latitude > longitude"),
      (
        "isFavorite == 1 AND NOT (isHidden == 1 OR duration > 5)",
        "isFavorite == true AND isHidden == false AND duration <= 5.0"
      ),
      ("FALSEPREDICATE OR FALSEPREDICATE", "FALSEPREDICATE"), ("TRUEPREDICATE AND TRUEPREDICATE", "TRUEPREDICATE"),
      ("burstIdentifier IN {}", "FALSEPREDICATE"), ("NOT (burstIdentifier IN {})", "TRUEPREDICATE"),
      ("isFavorite == 1 AND fileSize IN {}", "FALSEPREDICATE"),
      ("isFavorite == 1 OR ANY keywords IN {}", "isFavorite == true"),
    ])
  func normalized(_ text: String, _ plain: String) throws {
    #expect("\(try FetchPredicate(text, schema: .asset, principal: .local).normalized)" == plain)
  }

  @Test(
    "the required range of a key is derived from the predicate",
    arguments: [
      ("TRUEPREDICATE", nil, nil), ("isFavorite == 1 OR fileSize > 5", nil, nil),
      ("isFavorite == 1 AND fileSize > 5 AND fileSize <= 9", 6, 9),
      ("NOT (isFavorite == 1 OR NOT fileSize BETWEEN {3, 7})", 3, 7), ("fileSize == 5 AND fileSize < 5", 5, 4),
      ("fileSize IN {9, 3, 4}", 3, 9), ("fileSize IN {}", nil, nil),
      ("fileSize & 1 == 1 AND isFavorite IN {false}", nil, nil), ("fileSize > 1.5", nil, nil),
      ("fileSize > 9223372036854775807", .max, .min), ("fileSize < -9223372036854775808", .max, .min),
      ("fileSize != 5", .min, .max), ("fileSize == pixelWidth", nil, nil),
    ] as [(String, Int64?, Int64?)])
  func required(_ text: String, _ lower: Int64?, _ upper: Int64?) throws {
    let predicate = try FetchPredicate(text, schema: .asset, principal: .local).normalized
    let range = predicate.requiredRange(of: try #require(PropertySchema.asset.key(named: "fileSize")))
    #expect(range?.lower == lower && range?.upper == upper)
    #expect(range?.isEmpty == lower.flatMap { lower in upper.map { lower > $0 } })
  }

  @Test("rows that match a predicate also match its required ranges", arguments: 0..<10)
  func requirementsHold(_ seed: Int) {
    var dice = Dice(seed + 4000)
    let rows = (0..<50).map { dice.row(.asset, number: $0) }
    for _ in 0..<300 {
      let terms = (0..<3).map { _ in FetchPredicate.comparison(dice.comparison(.asset)) }
      let predicate = FetchPredicate.conjunction(terms).normalized
      for row in rows where predicate.matches(row) {
        for key in PropertySchema.asset.keys {
          guard let range = predicate.requiredRange(of: key), let value = row.value(for: key) else { continue }
          switch value {
          case .integer(let number): #expect((range.lower...range.upper).contains(number), "\(predicate)")
          case .date(let date): #expect((range.lower...range.upper).contains(date.milliseconds), "\(predicate)")
          default: Issue.record("\(key.name) is in no range")
          }
        }
      }
    }
  }
}
