import HTTPCore
import LibraryCatalogue
import PhotoModel
import PhotoPredicate

/// The parsed query of a collection list: `GET /v1/collections` and `GET /v1/collections/{id}/collections`.
struct CollectionListQuery: Sendable {
  private static let pageSizes = 1...1000

  let fetch: CollectionFetch
  /// The query parameters as sent.
  let parameters: [String: String]

  init(
    _ target: RequestTarget, _ tokens: TokenCodec, in parent: LocalIdentifier?, for principal: Principal
  ) throws(Problem) {
    var query = try QueryReader(target)
    var asked = CollectionQuery(parent: parent)
    if parent == nil {
      asked.parent = try query.text("parent").map { text throws(Problem) in
        try LocalIdentifier(parameter: text, "parent")
      }
    }
    asked.containing = try query.text("containing").map { text throws(Problem) in
      try LocalIdentifier(parameter: text, "containing")
    }
    asked.type = try query.optionalWord("type")
    asked.subtype = try query.text("subtype").map { text throws(Problem) in try Self.subtype(text) }
    asked.limit = try query.number("limit", in: Self.pageSizes) ?? 100
    asked.cursor = query.cursor(tokens)
    asked.includesHidden = try query.flag("includeHiddenAssets")
    asked.includesAllBurstAssets = try query.flag("includeAllBurstAssets")
    let predicate = try query.predicate(schema: .collection, principal)
    let sort = try query.sortDescriptors(schema: .collection, principal)
    try query.finish()
    fetch = CollectionFetch(asked, predicate: predicate, sort: sort)
    parameters = query.values
  }

  /// Accepts only existing subtypes, so that a typing error is not an empty list.
  fileprivate static func subtype(_ text: String) throws(Problem) -> String {
    let names = Enumeration.collectionSubtype.cases.map(\.name)
    guard names.contains(text) else {
      throw QueryReader.invalid("subtype", "must be one of \(names.joined(separator: ", "))")
    }
    return text
  }
}

extension CollectionFetch {
  /// The `collections` of the body of `POST /v1/fetchResults`: the members of a list's query without its page. A parent
  /// of null is the top level.
  init(_ body: inout JSONObjectReader, for principal: Principal) throws(Problem) {
    var asked = CollectionQuery()
    asked.type = body.value("type") == nil ? nil : try body.word("type", default: CollectionType.album)
    asked.subtype = try body.text("subtype").map { text throws(Problem) in try CollectionListQuery.subtype(text) }
    asked.parent = try body.text("parent").map { text throws(Problem) in
      try LocalIdentifier(parameter: text, "parent")
    }
    if asked.parent == nil, body.hasMember("parent") { asked.parent = .topLevel }
    asked.containing = try body.text("containing").map { text throws(Problem) in
      try LocalIdentifier(parameter: text, "containing")
    }
    asked.includesHidden = try body.flag("includeHiddenAssets")
    asked.includesAllBurstAssets = try body.flag("includeAllBurstAssets")
    let predicate = try body.text("predicate").map { text throws(Problem) in
      try FetchPredicate(parameter: text, .collection, principal)
    }
    let sort = try body.text("sortDescriptors").map { text throws(Problem) in
      try FetchSortDescriptors(parameter: text, .collection, principal)
    }
    try body.finish()
    self.init(asked, predicate: predicate, sort: sort)
  }
}

extension QueryReader {
  /// The cursor of a page. Text that this library did not issue becomes a cursor that every list rejects, so that an
  /// unknown collection is reported first.
  mutating func cursor(_ tokens: TokenCodec) -> PageCursor? {
    text("cursor").map { tokens.cursor(of: $0) ?? .invalid }
  }

  mutating func predicate(
    schema: PropertySchema, _ principal: Principal
  ) throws(Problem) -> FetchPredicate? {
    try text("predicate").map { text throws(Problem) in try FetchPredicate(parameter: text, schema, principal) }
  }

  mutating func sortDescriptors(
    schema: PropertySchema, _ principal: Principal
  ) throws(Problem) -> FetchSortDescriptors? {
    try text("sortDescriptors").map { text throws(Problem) in
      try FetchSortDescriptors(parameter: text, schema, principal)
    }
  }
}

extension FetchPredicate {
  init(parameter text: String, _ schema: PropertySchema, _ principal: Principal) throws(Problem) {
    do throws(PredicateError) {
      self = try FetchPredicate(text, schema: schema, principal: principal)
    } catch {
      throw Problem(error, parameter: "predicate")
    }
  }
}

extension FetchSortDescriptors {
  init(parameter text: String, _ schema: PropertySchema, _ principal: Principal) throws(Problem) {
    do throws(PredicateError) {
      self = try FetchSortDescriptors(text, schema: schema, principal: principal)
    } catch {
      throw Problem(error, parameter: "sortDescriptors")
    }
  }
}
