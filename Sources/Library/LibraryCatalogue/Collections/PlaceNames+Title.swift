import PhotoModel

extension PlaceNames {
  /// The title of assets that were taken together; `nil` if none has a name.
  ///
  /// One or two cities are named, as in "Vienna & Graz", the one with more assets first. More cities are named by their
  /// region or else their country, if all are in the same one, and otherwise by the two with the most assets. An asset
  /// without a city counts by its region, and without a region by its country.
  static func title(of assets: [PlaceNames]) -> String? {
    let named = assets.filter { $0.finest != nil }
    let names = ranked(named.compactMap(\.finest))
    if names.count <= 2 { return names.isEmpty ? nil : names.joined(separator: " & ") }
    for names in [named.map(\.region), named.map(\.country)] {
      if let name = names.first, let name, names.allSatisfy({ $0 == name }) { return name }
    }
    return names.prefix(2).joined(separator: " & ")
  }

  private var finest: String? { [city, region, country].lazy.compactMap(\.self).first { !$0.isEmpty } }

  /// The distinct names, the most frequent first, and equally frequent ones in their order.
  private static func ranked(_ names: [String]) -> [String] {
    var counts: [String: Int] = [:]
    var distinct: [String] = []
    for name in names {
      if counts[name] == nil { distinct.append(name) }
      counts[name, default: 0] += 1
    }
    return distinct.enumerated().sorted { one, other in
      let (count, otherCount) = (counts[one.element, default: 0], counts[other.element, default: 0])
      return count == otherCount ? one.offset < other.offset : count > otherCount
    }.map(\.element)
  }
}
