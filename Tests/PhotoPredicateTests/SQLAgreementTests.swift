import Foundation
import GRDB
import PhotoFixtures
import PhotoModel
import PhotoPredicate
import Testing

@Suite("Predicates compiled to SQL")
struct SQLAgreementTests {
  static let predicatesASeed = 500
  static let rowsASeed = 64

  /// 4,000 predicates in all, over 512 rows; 10,000 over 1,280 in a thorough run.
  @Test(
    "SQL selects the same rows as evaluation in memory",
    // The seed decides on the schema and on the storage of numbers.
    arguments: Sampling.cases(6, of: 0..<20, "predicates") { $0 % 4 })
  func agree(_ seed: Int) throws {
    var dice = Dice(seed)
    let schema: PropertySchema = seed % 4 == 3 ? .collection : .asset
    let rows = (0..<Self.rowsASeed).map { dice.row(schema, number: $0) }
    let table = try RowTable(rows, schema: schema, storesNumbers: seed % 2 == 1)
    var (selected, possible) = (0, 0)
    for _ in 0..<Self.predicatesASeed {
      let predicate = dice.predicate(schema)
      let expected = rows.indices.filter { predicate.matches(rows[$0]) }
      let condition = SQLCondition(predicate, columns: table.columns)
      #expect(try table.select(condition) == expected, "\(predicate)\n\(condition.sql)\n\(condition.values)")
      let normalized = predicate.normalized
      let plain = SQLCondition(normalized, columns: table.columns)
      #expect(rows.indices.filter { normalized.matches(rows[$0]) } == expected, "\(predicate)\n\(normalized)")
      #expect(try table.select(plain) == expected, "\(predicate)\n\(plain.sql)\n\(plain.values)")
      if !expected.isEmpty, expected.count < rows.count { possible += 1 }
      selected += expected.count
    }
    // Most predicates select some rows but not all, and in total they select many.
    #expect(possible > Self.predicatesASeed / 2 && selected > Self.predicatesASeed * Self.rowsASeed / 5)
  }

  @Test("SQL sorts rows in the same order as memory, without ties", arguments: 0..<20)
  func order(_ seed: Int) throws {
    var dice = Dice(seed + 1000)
    let schema: PropertySchema = seed % 4 == 3 ? .collection : .asset
    let rows = (0..<Self.rowsASeed).map { dice.row(schema, number: $0) }
    let table = try RowTable(rows, schema: schema, storesNumbers: seed % 2 == 1)
    for _ in 0..<40 {
      let descriptors = (0...dice.below(4)).map { _ in
        FetchSortDescriptor(dice.one(of: schema.keys.filter(\.isSortable)), isAscending: dice.oneIn(2))
      }
      let sort = FetchSortDescriptors(descriptors, schema: schema)
      let expected = rows.indices.sorted { sort.areInIncreasingOrder(rows[$0], rows[$1]) }
      #expect(try table.order(sort) == expected, "\(sort)")
      for (a, b) in zip(expected, expected.dropFirst()) {
        #expect(sort.areInIncreasingOrder(rows[a], rows[b]) && !sort.areInIncreasingOrder(rows[b], rows[a]))
      }
    }
  }

  @Test(
    "a comparison of a list holds if it holds for any of its texts; a list without texts is absent",
    arguments: [
      ("ANY keywords == 'a'", [0, 2]), ("keywords CONTAINS 'a'", [0, 2]), ("keywords CONTAINS[c] 'A'", [0, 2]),
      ("keywords CONTAINS[cd] '\u{C1}'", [0, 2]), ("keywords CONTAINS[d] 'A'", []),
      ("ANY keywords != 'a'", [0, 1]), ("NOT ANY keywords == 'a'", [1, 3]), ("NOT ANY keywords != 'a'", [2, 3]),
      ("ANY keywords BEGINSWITH 'b'", [0]), ("ANY keywords CONTAINS ','", [1]), ("ANY keywords IN {'c\"', 'x'}", [1]),
      ("ANY keywords IN {}", []), ("keywords == nil", [3]), ("NOT keywords == nil", [0, 1, 2]),
      ("ANY keywords BETWEEN {'b', 'bz'}", [0]), ("ANY keywords LIKE '?d'", [0]),
    ])
  func lists(_ text: String, _ expected: [Int]) throws {
    let lists = [["a", "bd"], ["c\"", ","], ["a"], nil]
    var dice = Dice(1)
    let rows = lists.enumerated().map { number, list in
      var row = dice.row(.asset, number: number)
      row.values["keywords"] = list.map { .strings($0) }
      return row
    }
    let table = try RowTable(rows, schema: .asset, storesNumbers: false)
    let predicate = try FetchPredicate(text, schema: .asset, principal: .local)
    for predicate in [predicate, predicate.normalized] {
      #expect(rows.indices.filter { predicate.matches(rows[$0]) } == expected, "\(predicate)")
      #expect(try table.select(SQLCondition(predicate, columns: table.columns)) == expected, "\(predicate)")
    }
  }

  @Test(
    "values are bound parameters and never part of the SQL text",
    arguments: [
      "originalFilename == 'x\\'; DROP TABLE asset; --'", "originalFilename CONTAINS[c] '\\'x\\''",
      "fileSize IN {4711, 4712}",
      "originalFilename LIKE 'x*\\'?'", "duration BETWEEN {4711.25, 4712.25}", "creationDate > '2024-05-06T07:08:09Z'",
      "mediaSubtypes & 4711 == 4712", "mediaType IN {image, video}", "originalFilename BEGINSWITH 'x\\''",
      "ANY keywords == 'x\\''", "keywords CONTAINS[c] 'x'",
    ])
  func bound(_ text: String) throws {
    let predicate = try FetchPredicate(text, schema: .asset, principal: .local)
    let table = try RowTable([], schema: .asset, storesNumbers: false)
    let condition = SQLCondition(predicate, columns: table.columns)
    #expect(!condition.sql.contains("4711") && !condition.sql.contains("x") && !condition.sql.contains("'"))
    #expect(condition.sql.count { $0 == "?" } == condition.values.count && !condition.values.isEmpty)
    #expect(try table.select(condition) == [])
  }

  @Test(
    "ranges, equalities and prefixes use an index",
    arguments: [
      ("creationDate BETWEEN {'2024-01-01T00:00:00Z', '2025-01-01T00:00:00Z'}", "creationDate>? AND creationDate<?"),
      ("creationDate >= '2024-01-01T00:00:00Z' AND pixelWidth > 5", "creationDate>?"),
      ("creationDate == nil", "creationDate=?"), ("originalFilename == 'a'", "originalFilename=?"),
      ("originalFilename BEGINSWITH 'IMG_'", "originalFilename>? AND originalFilename<?"),
      ("originalFilename LIKE 'IMG_*'", "originalFilename>? AND originalFilename<?"),
      ("originalFilename LIKE 'IMG_00??.*'", "originalFilename>? AND originalFilename<?"),
      ("originalFilename IN {'a', 'b'}", "originalFilename=?"), ("mediaType == video", "mediaType=?"),
      ("mediaType > image", "mediaType=?"), ("isFavorite == true", "USING INDEX favorites"),
      ("NOT isFavorite == false", "USING INDEX favorites"),
    ])
  func indexed(_ text: String, _ use: String) throws {
    let predicate = try FetchPredicate(text, schema: .asset, principal: .local).normalized
    let table = try RowTable([], schema: .asset, storesNumbers: false)
    let plan = try table.plan(of: SQLCondition(predicate, columns: table.columns))
    #expect(plan.hasPrefix("SEARCH") || plan.contains("favorites"), "\(plan)")
    #expect(plan.contains(use), "\(plan)")
  }

  @Test("SQLite accepts predicates at the limits of depth and length")
  func largest() throws {
    let limits = PredicateLimits()
    let table = try RowTable([], schema: .asset, storesNumbers: false)
    func select(_ text: String) throws {
      let predicate = try FetchPredicate(text, schema: .asset, principal: .local)
      for predicate in [predicate, predicate.normalized] {
        #expect(try table.select(SQLCondition(predicate, columns: table.columns)) == [])
      }
    }
    let leaf = "burstIdentifier < 'a'"
    // SQLite has to keep the part before each parenthesis on its stack.
    for (open, step) in [
      ("\(leaf) AND (\(leaf) OR (", 2), ("NOT (\(leaf) AND ", 2), ("(\(leaf) OR NOT ", 2), ("NOT ", 1),
    ] {
      let levels = limits.depth / step
      let isNot = open.hasPrefix("NOT (")
      let closing = String(repeating: ")", count: open.count { $0 == "(" })
      let text =
        String(repeating: open, count: levels) + leaf + String(repeating: closing, count: levels)
      #expect(throws: Never.self, "\(isNot)") { try select(text) }
    }
    let list = "ANY keywords LIKE 'a?b*'"
    try select(
      String(repeating: "NOT (\(list) AND (\(list) OR ", count: limits.depth / 3) + list
        + String(repeating: "))", count: limits.depth / 3))
    try select(Array(repeating: list, count: limits.terms).joined(separator: " OR "))
    for joint in [" AND ", " OR ", " AND NOT "] {
      try select(Array(repeating: leaf, count: limits.terms).joined(separator: joint))
      try select("NOT (" + Array(repeating: leaf, count: limits.terms).joined(separator: joint) + ")")
    }
    let values = "pixelWidth IN {" + Array(repeating: "1", count: limits.listValues).joined(separator: ",") + "}"
    try select(Array(repeating: values, count: limits.characters / (values.count + 4)).joined(separator: " OR "))
    try select("originalFilename LIKE '" + String(repeating: "*?a", count: limits.wildcards / 2) + "'")
  }
}

/// Rows in SQLite, with a column for each key.
struct RowTable {
  let queue: DatabaseQueue
  let columns: SQLColumns

  /// - Parameter storesNumbers: whether enumerations are stored as numbers, some of them in another order, not as text.
  init(_ rows: [TestRow], schema: PropertySchema, storesNumbers: Bool) throws {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      for function in SQLFunction.all {
        db.add(
          function: DatabaseFunction(function.name, argumentCount: function.argumentCount, pure: true) { values in
            function.body(values.map(SQLValue.init)).databaseValue
          })
      }
    }
    queue = try DatabaseQueue(configuration: configuration)
    columns = SQLColumns(
      Dictionary(
        uniqueKeysWithValues: (schema.keys + schema.keysWithoutLocation).map { key in
          var stored: [String: SQLValue] = [:]
          if storesNumbers, case .enumeration(let enumeration) = key.type {
            for (i, element) in enumeration.cases.enumerated() {
              stored[element.name] = .integer(Int64(i * 7 % 11 + i))
            }
          }
          return (key.column, SQLColumns.Column("asset.\(key.name)", stored: stored))
        }),
      schema: schema)
    let mapping = columns
    try queue.write { db in
      let definitions = schema.keys.map { key in
        let type =
          switch key.type {
          case .boolean, .integer, .date, .options: "INTEGER"
          case .real: "REAL"
          case .string, .strings: "TEXT"
          case .enumeration: storesNumbers ? "INTEGER" : "TEXT"
          }
        return "\(key.name) \(type)" + (key.isNullable ? "" : " NOT NULL")
      }
      try db.execute(sql: "CREATE TABLE asset (id INTEGER PRIMARY KEY, \(definitions.joined(separator: ", "))) STRICT")
      if schema.key(named: "creationDate") != nil {
        try db.execute(
          sql: """
            CREATE INDEX dates ON asset (creationDate); CREATE INDEX names ON asset (originalFilename);
            CREATE INDEX types ON asset (mediaType); CREATE INDEX favorites ON asset (pixelHeight) WHERE isFavorite = 1
            """)
      }
      let marks = schema.keys.map { _ in ", ?" }.joined()
      for (i, row) in rows.enumerated() {
        let values = try schema.keys.map { key in
          switch row.value(for: key) {
          case nil: DatabaseValue.null
          case .boolean(let value): value.databaseValue
          case .integer(let value): value.databaseValue
          case .real(let value): value.databaseValue
          case .string(let value): value.databaseValue
          case .strings(let values):
            String(decoding: try JSONEncoder().encode(values), as: UTF8.self).databaseValue
          case .date(let value): value.milliseconds.databaseValue
          case .name(let name): (mapping[key].stored[name] ?? .text(name)).databaseValue
          }
        }
        try db.execute(
          sql: "INSERT INTO asset VALUES (?\(marks))", arguments: StatementArguments([i.databaseValue] + values))
      }
    }
  }

  /// The numbers of the rows that match a condition.
  func select(_ condition: SQLCondition) throws -> [Int] {
    try queue.read { db in
      try Int.fetchAll(
        db, sql: "SELECT id FROM asset WHERE \(condition.sql) ORDER BY id", arguments: condition.arguments)
    }
  }

  func order(_ sort: FetchSortDescriptors) throws -> [Int] {
    // SQLite sorts NULL first by an ascending key, as required.
    let terms = sort.total.map { columns.orderingExpression(for: $0.key) + ($0.isAscending ? "" : " DESC") }
    return try queue.read { db in
      try Int.fetchAll(db, sql: "SELECT id FROM asset ORDER BY \(terms.joined(separator: ", "))")
    }
  }

  func plan(of condition: SQLCondition) throws -> String {
    try queue.read { db in
      try Row.fetchAll(
        db, sql: "EXPLAIN QUERY PLAN SELECT * FROM asset WHERE \(condition.sql)", arguments: condition.arguments
      ).map { $0["detail"] as String }.joined(separator: "; ")
    }
  }
}

extension SQLCondition {
  fileprivate var arguments: StatementArguments { StatementArguments(values.map(\.databaseValue)) }
}

extension SQLValue {
  fileprivate init(_ value: DatabaseValue) {
    switch value.storage {
    case .null, .blob: self = .null
    case .int64(let number): self = .integer(number)
    case .double(let number): self = .real(number)
    case .string(let text): self = .text(text)
    }
  }

  fileprivate var databaseValue: DatabaseValue {
    switch self {
    case .null: .null
    case .integer(let number): number.databaseValue
    case .real(let number): number.databaseValue
    case .text(let text): text.databaseValue
    }
  }
}
