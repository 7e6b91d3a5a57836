import PhotoModel
import PhotoPredicate

/// A fetch of collections: PHFetchOptions over the collections of a kind.
package struct CollectionFetch: Sendable {
  package var query: CollectionQuery
  package var predicate: FetchPredicate?
  /// `nil`: the list's own order.
  package var sort: FetchSortDescriptors?

  package init(_ query: CollectionQuery, predicate: FetchPredicate? = nil, sort: FetchSortDescriptors? = nil) {
    self.query = query
    self.predicate = predicate
    self.sort = sort
  }

  /// Whether the fetch may have to read all collections of the kind.
  package var needsFullScan: Bool { predicate != nil || sort != nil }

  /// The sort order, if ``CollectionReader`` can read the list in this order along an index: moments by their start.
  /// All other sorted lists are read whole.
  var momentOrder: FetchSortDescriptors? {
    query.type == .moment && sort?.total.map(\.key.name) == ["startDate", "localIdentifier"] ? sort : nil
  }

  /// The number of collections read at a time, if some of them may not be returned.
  private static let readSize = 256

  /// - Parameter isInOrder: the list and its cursors already have the order of ``sort``.
  func page(
    of list: CollectionPager, isInOrder: Bool, deadline: ContinuousClock.Instant?
  ) throws -> CollectionPage {
    guard let sort, !isInOrder else { return try page(of: list, after: query.cursor, deadline) }
    let last = try query.cursor.map { try CollectionSortValues($0, of: sort) }
    var found: [AssetCollection] = []
    try forEachMatch(in: list, after: nil, readingAtMost: Self.readSize, deadline) { listed in
      if last.map({ sort.areInIncreasingOrder($0, listed.collection) }) ?? true { found.append(listed.collection) }
      return true
    }
    found.sort { sort.areInIncreasingOrder($0, $1) }
    let page = Array(found.prefix(query.limit))
    let next = found.count > page.count ? page.last.map { CollectionSortValues($0, of: sort).cursor(of: sort) } : nil
    return CollectionPage(collections: page, nextCursor: next)
  }

  private func page(
    of list: CollectionPager, after cursor: PageCursor?, _ deadline: ContinuousClock.Instant?
  ) throws -> CollectionPage {
    var found: [CollectionListItem] = []
    let readLimit = predicate == nil ? query.limit + 1 : Self.readSize
    try forEachMatch(in: list, after: cursor, readingAtMost: readLimit, deadline) { listed in
      found.append(listed)
      return found.count <= query.limit
    }
    let page = found.prefix(query.limit)
    return CollectionPage(
      collections: page.map(\.collection), nextCursor: found.count > page.count ? page.last?.cursor : nil)
  }

  /// Passes the matching collections to `body` until it returns `false`.
  ///
  /// - Parameter limit: the number of collections read at a time.
  private func forEachMatch(
    in list: CollectionPager, after cursor: PageCursor?, readingAtMost limit: Int, _ deadline: ContinuousClock.Instant?,
    _ body: (CollectionListItem) -> Bool
  ) throws {
    var cursor = cursor
    while true {
      // The connection's deadline interrupts only within a statement, and this loop runs many short ones.
      if let deadline, ContinuousClock.now >= deadline { throw AssetSourceError.queryTooExpensive }
      let listed = try list(limit, cursor)
      for one in listed where predicate?.matches(one.collection) ?? true {
        if !body(one) { return }
      }
      guard listed.count == limit, let last = listed.last else { return }
      cursor = last.cursor
    }
  }
}

extension AssetCollection: PropertyRow {
  package func value(for key: PropertyKey) -> PropertyValue? {
    switch key.name {
    case "localIdentifier": .string(localIdentifier.rawValue)
    case "title": title.map { .string($0) }
    case "type": .name(type.rawValue)
    case "subtype": .name(subtype)
    case "startDate": startDate.map { .date($0) }
    case "endDate": endDate.map { .date($0) }
    case "estimatedAssetCount": .integer(Int64(estimatedAssetCount))
    case "estimatedCollectionCount": .integer(Int64(estimatedCollectionCount))
    default: preconditionFailure("\(key.name) is not a collection key")
    }
  }
}

/// The sort values of the last collection of a page.
struct CollectionSortValues: PropertyRow {
  private let values: [String: PropertyValue]

  init(_ collection: AssetCollection, of sort: FetchSortDescriptors) {
    values = Dictionary(
      uniqueKeysWithValues: sort.total.compactMap { descriptor in
        collection.value(for: descriptor.key).map { (descriptor.key.name, $0) }
      })
  }

  init(_ cursor: PageCursor, of sort: FetchSortDescriptors) throws(AssetSourceError) {
    let fields = try cursor.fields(sort.total.count + 1)
    guard fields[0] == .text(Self.orderSignature(sort)) else { throw .malformedCursor }
    var values: [String: PropertyValue] = [:]
    for (field, descriptor) in zip(fields.dropFirst(), sort.total) {
      switch (field, descriptor.key.type) {
      case (.null, _) where descriptor.key.isNullable: break
      case (.text(let text), .string): values[descriptor.key.name] = .string(text)
      case (.text(let name), .enumeration): values[descriptor.key.name] = .name(name)
      case (.integer(let number), .integer): values[descriptor.key.name] = .integer(number)
      case (.integer(let number), .date): values[descriptor.key.name] = .date(Timestamp(milliseconds: number))
      default: throw .malformedCursor
      }
    }
    self.values = values
  }

  func value(for key: PropertyKey) -> PropertyValue? { values[key.name] }

  func cursor(of sort: FetchSortDescriptors) -> PageCursor {
    PageCursor(
      [.text(Self.orderSignature(sort))]
        + sort.total.map { descriptor in
          switch values[descriptor.key.name] {
          case .string(let text), .name(let text): .text(text)
          case .integer(let number): .integer(number)
          case .date(let date): .integer(date.milliseconds)
          case .boolean, .real, .strings, nil: .null
          }
        })
  }

  private static func orderSignature(_ sort: FetchSortDescriptors) -> String {
    sort.total.map { ($0.isAscending ? "" : "-") + $0.key.name }.joined(separator: ",")
  }
}
