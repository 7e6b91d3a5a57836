import PhotoModel
import PhotoPredicate

/// What a fetch of collections asks for: PHFetchOptions over the collections of a kind.
package struct CollectionFetch: Sendable {
  package var query: CollectionQuery
  package var predicate: FetchPredicate?
  /// `nil`: in the list's own order.
  package var sort: FetchSortDescriptors?

  package init(_ query: CollectionQuery, predicate: FetchPredicate? = nil, sort: FetchSortDescriptors? = nil) {
    self.query = query
    self.predicate = predicate
    self.sort = sort
  }

  /// Whether all collections of the kind may have to be looked at.
  package var isFree: Bool { predicate != nil || sort != nil }

  /// How many are read at a time where not all that are read are shown.
  private static let stretch = 256

  func page(
    of list: CollectionList, deadline: ContinuousClock.Instant?, _ seal: CursorSeal
  ) throws -> CollectionPage {
    let cursor = try query.cursor.map { try PageCursor(text: $0, seal) }
    guard let sort else { return try page(of: list, behind: cursor, deadline, seal) }
    let last = try cursor.map { try CollectionValues($0, of: sort) }
    var found: [AssetCollection] = []
    try each(of: list, behind: nil, deadline) { listed in
      if last.map({ sort.areInIncreasingOrder($0, listed.collection) }) ?? true { found.append(listed.collection) }
      return true
    }
    found.sort { sort.areInIncreasingOrder($0, $1) }
    let page = Array(found.prefix(query.limit))
    let next =
      found.count > page.count ? page.last.map { CollectionValues($0, of: sort).cursor(of: sort).text(seal) } : nil
    return CollectionPage(collections: page, nextCursor: next)
  }

  private func page(
    of list: CollectionList, behind cursor: PageCursor?, _ deadline: ContinuousClock.Instant?, _ seal: CursorSeal
  ) throws -> CollectionPage {
    var found: [ListedCollection] = []
    try each(of: list, behind: cursor, deadline) { listed in
      found.append(listed)
      return found.count <= query.limit
    }
    let page = found.prefix(query.limit)
    return CollectionPage(
      collections: page.map(\.collection), nextCursor: found.count > page.count ? page.last?.cursor.text(seal) : nil)
  }

  /// Goes through what fulfils the predicate, until `body` has enough.
  private func each(
    of list: CollectionList, behind cursor: PageCursor?, _ deadline: ContinuousClock.Instant?,
    _ body: (ListedCollection) -> Bool
  ) throws {
    var cursor = cursor
    let limit = isFree ? Self.stretch : query.limit + 1
    while true {
      // Many short statements, which the connection's own deadline does not see.
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
    default: preconditionFailure("\(key.name) is no key of a collection")
    }
  }
}

/// The values of an order in the last collection of a page.
private struct CollectionValues: PropertyRow {
  private let values: [String: PropertyValue]

  init(_ collection: AssetCollection, of sort: FetchSortDescriptors) {
    values = Dictionary(
      uniqueKeysWithValues: sort.total.compactMap { descriptor in
        collection.value(for: descriptor.key).map { (descriptor.key.name, $0) }
      })
  }

  init(_ cursor: PageCursor, of sort: FetchSortDescriptors) throws(AssetSourceError) {
    let fields = try cursor.fields(sort.total.count + 1)
    guard fields[0] == .text(Self.digest(sort)) else { throw .malformedCursor }
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
      [.text(Self.digest(sort))]
        + sort.total.map { descriptor in
          switch values[descriptor.key.name] {
          case .string(let text), .name(let text): .text(text)
          case .integer(let number): .integer(number)
          case .date(let date): .integer(date.milliseconds)
          case .boolean, .real, nil: .null
          }
        })
  }

  private static func digest(_ sort: FetchSortDescriptors) -> String {
    sort.total.map { ($0.isAscending ? "" : "-") + $0.key.name }.joined(separator: ",")
  }
}
