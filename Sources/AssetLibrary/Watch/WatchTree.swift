// Which folder each watch is of. Folders hang below each other by their names, so that one that is renamed takes all that
// is below it along, at the cost of one entry.
//
// Who holds on to a folder (a rename whose other half has not come yet) may find it removed by then, and its place taken by
// another. A folder's number tells: one that was removed has none of the folders that are there, and nothing is done to it.
//
// Some 200 bytes a folder; the kernel takes about a kilobyte for the watch and the folder that it holds.

struct WatchTree {
  /// A folder, for as long as it is in the tree; behind that, none.
  struct Node: Hashable {
    fileprivate let place: Place
    fileprivate let number: UInt32
  }

  /// An index into `entries`.
  fileprivate typealias Place = Int32

  private static let rootPlace: Place = 0
  private static let none: Place = -1

  private struct Entry {
    var name: [UInt8]
    /// Which folder has the place; 0 where none has it.
    var number: UInt32
    var parent: Place
    var firstChild = none
    var next = none
    var previous = none
    /// The number that the kernel gave; a folder that links lead to has one for all its paths.
    var watch: Int32
    var nextOfWatch = none
    /// The last scan that came by.
    var scan: UInt32
  }

  private struct Key: Hashable {
    let parent: Place
    let name: [UInt8]
  }

  private var entries: [Entry] = []
  private var free: [Place] = []
  private var children: [Key: Place] = [:]
  private var byWatch: [Int32: Place] = [:]
  /// The number of the folder that came last.
  private var lastNumber: UInt32 = 0

  /// Folders; one with several paths counts for each.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  var root: Node? { isEmpty ? nil : node(in: Self.rootPlace) }

  // MARK: Looking

  /// `nil` of a folder that was removed.
  private func place(of node: Node) -> Place? {
    entries.indices.contains(Int(node.place)) && entries[Int(node.place)].number == node.number ? node.place : nil
  }

  private func node(in place: Place) -> Node { Node(place: place, number: entries[Int(place)].number) }

  func watch(of node: Node) -> Int32? { place(of: node).map { entries[Int($0)].watch } }

  func child(of node: Node, _ name: [UInt8]) -> Node? {
    place(of: node).flatMap { children[Key(parent: $0, name: name)] }.map(node(in:))
  }

  /// The folder with that path; `nil` where it is not known.
  func node(at path: [UInt8]) -> Node? {
    guard var node = root else { return nil }
    if path.isEmpty { return node }
    for name in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard let next = child(of: node, Array(name)) else { return nil }
      node = next
    }
    return node
  }

  /// All paths that a watch stands for.
  func nodes(of watch: Int32) -> [Node] {
    var found: [Node] = []
    var place = byWatch[watch] ?? Self.none
    while place != Self.none {
      found.append(node(in: place))
      place = entries[Int(place)].nextOfWatch
    }
    return found
  }

  /// Below the root; `nil` of one that hangs nowhere for now, or was removed.
  func path(of node: Node) -> [UInt8]? {
    guard var place = place(of: node) else { return nil }
    var names: [Place] = []
    while place != Self.rootPlace {
      names.append(place)
      place = entries[Int(place)].parent
      if place == Self.none { return nil }
    }
    var path: [UInt8] = []
    for place in names.reversed() {
      if !path.isEmpty { path.append(UInt8(ascii: "/")) }
      path += entries[Int(place)].name
    }
    return path
  }

  // MARK: Changing

  /// Adds a folder, or notes that it is there. One of the same name with another watch has gone, with all below it.
  ///
  /// - Parameter parent: in the tree; `nil`: it is the root.
  /// - Returns: watches that stand for nothing any more.
  mutating func put(_ name: [UInt8], in parent: Node?, watch: Int32, scan: UInt32) -> [Int32] {
    var freed: [Int32] = []
    if let known = parent.map({ child(of: $0, name) }) ?? root {
      if entries[Int(known.place)].watch == watch {
        entries[Int(known.place)].scan = scan
        return []
      }
      freed = remove(known)
    }
    lastNumber = lastNumber == .max ? 1 : lastNumber + 1
    var entry = Entry(name: name, number: lastNumber, parent: Self.none, watch: watch, scan: scan)
    entry.nextOfWatch = byWatch[watch] ?? Self.none
    let place: Place
    // Without a root there is nothing else, so that the first place is always the root's.
    if let free = free.popLast() {
      entries[Int(free)] = entry
      place = free
    } else {
      entries.append(entry)
      place = Place(entries.count - 1)
    }
    byWatch[watch] = place
    count += 1
    if let parent { hang(place, below: parent.place, name) }
    return freed.filter { byWatch[$0] == nil }
  }

  /// Takes a folder out of its place, with all below it: it is on its way to another.
  mutating func detach(_ node: Node) { if let place = place(of: node) { detach(place) } }

  private mutating func detach(_ place: Place) {
    let entry = entries[Int(place)]
    guard entry.parent != Self.none else { return }
    children[Key(parent: entry.parent, name: entry.name)] = nil
    if entry.previous != Self.none {
      entries[Int(entry.previous)].next = entry.next
    } else {
      entries[Int(entry.parent)].firstChild = entry.next
    }
    if entry.next != Self.none { entries[Int(entry.next)].previous = entry.previous }
    entries[Int(place)].parent = Self.none
    entries[Int(place)].next = Self.none
    entries[Int(place)].previous = Self.none
  }

  /// Puts one that was taken out into its new place. What had that name has gone; where it is the same folder, which a
  /// scan was quicker to find, that stays.
  ///
  /// - Parameters:
  ///   - node: hangs nowhere; nothing happens where it was removed meanwhile.
  ///   - parent: where it was removed, the folder is removed too.
  /// - Returns: watches that stand for nothing any more.
  mutating func attach(_ node: Node, to parent: Node, _ name: [UInt8]) -> [Int32] {
    guard let place = place(of: node) else { return [] }
    guard let above = self.place(of: parent) else { return remove(node) }
    var next = above
    while next != Self.none {
      // Events of what has gone on since may name a folder below itself; a scan will find where it is.
      if next == place { return remove(node) }
      next = entries[Int(next)].parent
    }
    var freed: [Int32] = []
    if let other = child(of: parent, name) {
      if entries[Int(other.place)].watch == entries[Int(place)].watch { return remove(node) }
      freed = remove(other)
    }
    hang(place, below: above, name)
    return freed
  }

  /// Removes a folder and all below it; nothing where that was done before.
  ///
  /// - Returns: watches that stand for nothing any more.
  mutating func remove(_ node: Node) -> [Int32] {
    guard let top = place(of: node) else { return [] }
    if top == Self.rootPlace { return removeAll() }
    detach(top)
    var freed: [Int32] = []
    var waiting = [top]
    while let place = waiting.popLast() {
      let entry = entries[Int(place)]
      var child = entry.firstChild
      while child != Self.none {
        waiting.append(child)
        child = entries[Int(child)].next
      }
      if entry.parent != Self.none { children[Key(parent: entry.parent, name: entry.name)] = nil }
      if forget(place, of: entry.watch) { freed.append(entry.watch) }
      entries[Int(place)] = Entry(name: [], number: 0, parent: Self.none, watch: -1, scan: 0)
      free.append(place)
      count -= 1
    }
    return freed
  }

  /// Removes the root, and with it all that hangs below it, or nowhere.
  private mutating func removeAll() -> [Int32] {
    let freed = Array(byWatch.keys)
    let number = lastNumber
    self = WatchTree()
    lastNumber = number
    return freed
  }

  /// Removes the folders that a scan of everything did not come by.
  ///
  /// - Returns: watches that stand for nothing any more.
  mutating func removeAll(notOfScan scan: UInt32) -> [Int32] {
    var freed: [Int32] = []
    for place in entries.indices where entries[place].number != 0 && entries[place].scan != scan {
      freed += remove(node(in: Place(place)))
      if isEmpty { break }
    }
    return freed.filter { byWatch[$0] == nil }
  }

  private mutating func hang(_ place: Place, below parent: Place, _ name: [UInt8]) {
    let first = entries[Int(parent)].firstChild
    entries[Int(place)].name = name
    entries[Int(place)].parent = parent
    entries[Int(place)].next = first
    entries[Int(place)].previous = Self.none
    if first != Self.none { entries[Int(first)].previous = place }
    entries[Int(parent)].firstChild = place
    children[Key(parent: parent, name: name)] = place
  }

  /// Whether that was the last path of a watch.
  private mutating func forget(_ place: Place, of watch: Int32) -> Bool {
    let next = entries[Int(place)].nextOfWatch
    guard byWatch[watch] != place else {
      byWatch[watch] = next == Self.none ? nil : next
      return next == Self.none
    }
    var other = byWatch[watch] ?? Self.none
    while other != Self.none {
      if entries[Int(other)].nextOfWatch == place {
        entries[Int(other)].nextOfWatch = next
        break
      }
      other = entries[Int(other)].nextOfWatch
    }
    return false
  }
}
