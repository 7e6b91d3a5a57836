// Which folder each watch is of. Folders hang below each other by their names, so that one that is renamed takes all that
// is below it along, at the cost of one entry.
//
// Some 200 bytes a folder; the kernel takes about a kilobyte for the watch and the folder that it holds.

struct WatchTree {
  /// An index into `nodes`.
  typealias Node = Int32

  static let root: Node = 0
  private static let none: Node = -1

  private struct Entry {
    var name: [UInt8]
    var parent: Node
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
    let parent: Node
    let name: [UInt8]
  }

  private var nodes: [Entry] = []
  private var free: [Node] = []
  private var children: [Key: Node] = [:]
  private var byWatch: [Int32: Node] = [:]

  /// Folders; one with several paths counts for each.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  // MARK: Looking

  func watch(of node: Node) -> Int32 { nodes[Int(node)].watch }

  func child(of node: Node, _ name: [UInt8]) -> Node? { children[Key(parent: node, name: name)] }

  /// The folder with that path; `nil` where it is not known.
  func node(at path: [UInt8]) -> Node? {
    if isEmpty { return nil }
    if path.isEmpty { return Self.root }
    var node = Self.root
    for name in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard let next = child(of: node, Array(name)) else { return nil }
      node = next
    }
    return node
  }

  /// All paths that a watch stands for.
  func nodes(of watch: Int32) -> [Node] {
    var found: [Node] = []
    var node = byWatch[watch] ?? Self.none
    while node != Self.none {
      found.append(node)
      node = nodes[Int(node)].nextOfWatch
    }
    return found
  }

  /// Below the root; `nil` of one that hangs nowhere for now.
  func path(of node: Node) -> [UInt8]? {
    var names: [Node] = []
    var node = node
    while node != Self.root {
      if node == Self.none { return nil }
      names.append(node)
      node = nodes[Int(node)].parent
    }
    var path: [UInt8] = []
    for node in names.reversed() {
      if !path.isEmpty { path.append(UInt8(ascii: "/")) }
      path += nodes[Int(node)].name
    }
    return path
  }

  // MARK: Changing

  /// Adds a folder, or notes that it is there. One of the same name with another watch has gone, with all below it.
  ///
  /// - Parameter parent: `nil`: it is the root.
  /// - Returns: watches that stand for nothing any more.
  mutating func put(_ name: [UInt8], in parent: Node?, watch: Int32, scan: UInt32) -> [Int32] {
    var freed: [Int32] = []
    if let known = parent.map({ child(of: $0, name) }) ?? (isEmpty ? nil : Self.root) {
      if nodes[Int(known)].watch == watch {
        nodes[Int(known)].scan = scan
        return []
      }
      freed = remove(known)
    }
    var entry = Entry(name: name, parent: parent ?? Self.none, watch: watch, scan: scan)
    entry.nextOfWatch = byWatch[watch] ?? Self.none
    let node: Node
    if parent == nil {
      // The root's place is the first: without a root there is nothing else.
      nodes = [entry]
      (free, node) = ([], Self.root)
    } else if let place = free.popLast() {
      nodes[Int(place)] = entry
      node = place
    } else {
      nodes.append(entry)
      node = Node(nodes.count - 1)
    }
    byWatch[watch] = node
    count += 1
    if let parent { hang(node, below: parent, name) }
    return freed.filter { byWatch[$0] == nil }
  }

  /// Takes a folder out of its place, with all below it: it is on its way to another.
  mutating func detach(_ node: Node) {
    let entry = nodes[Int(node)]
    guard entry.parent != Self.none else { return }
    children[Key(parent: entry.parent, name: entry.name)] = nil
    if entry.previous != Self.none {
      nodes[Int(entry.previous)].next = entry.next
    } else {
      nodes[Int(entry.parent)].firstChild = entry.next
    }
    if entry.next != Self.none { nodes[Int(entry.next)].previous = entry.previous }
    nodes[Int(node)].parent = Self.none
    nodes[Int(node)].next = Self.none
    nodes[Int(node)].previous = Self.none
  }

  /// Puts one that was taken out into its new place. What had that name has gone; where it is the same folder, which a
  /// scan was quicker to find, that stays.
  ///
  /// - Returns: watches that stand for nothing any more.
  mutating func attach(_ node: Node, to parent: Node, _ name: [UInt8]) -> [Int32] {
    var above = parent
    while above != Self.none {
      // Events of what has gone on since may name a folder below itself; a scan will find where it is.
      if above == node { return remove(node) }
      above = nodes[Int(above)].parent
    }
    var freed: [Int32] = []
    if let other = child(of: parent, name) {
      if nodes[Int(other)].watch == nodes[Int(node)].watch { return remove(node) }
      freed = remove(other)
    }
    hang(node, below: parent, name)
    return freed
  }

  /// Removes a folder and all below it.
  ///
  /// - Returns: watches that stand for nothing any more.
  mutating func remove(_ node: Node) -> [Int32] {
    detach(node)
    var freed: [Int32] = []
    var waiting = [node]
    while let node = waiting.popLast() {
      let entry = nodes[Int(node)]
      var child = entry.firstChild
      while child != Self.none {
        waiting.append(child)
        child = nodes[Int(child)].next
      }
      if entry.parent != Self.none { children[Key(parent: entry.parent, name: entry.name)] = nil }
      if forget(node, of: entry.watch) { freed.append(entry.watch) }
      nodes[Int(node)] = Entry(name: [], parent: Self.none, watch: -1, scan: 0)
      free.append(node)
      count -= 1
    }
    if node == Self.root { self = WatchTree() }
    return freed
  }

  /// Removes the folders that a scan of everything did not come by.
  ///
  /// - Returns: watches that stand for nothing any more.
  mutating func removeAll(notOfScan scan: UInt32) -> [Int32] {
    var freed: [Int32] = []
    for node in nodes.indices where nodes[node].watch >= 0 && nodes[node].scan != scan {
      freed += remove(Node(node))
      if isEmpty { break }
    }
    return freed.filter { byWatch[$0] == nil }
  }

  private mutating func hang(_ node: Node, below parent: Node, _ name: [UInt8]) {
    let first = nodes[Int(parent)].firstChild
    nodes[Int(node)].name = name
    nodes[Int(node)].parent = parent
    nodes[Int(node)].next = first
    nodes[Int(node)].previous = Self.none
    if first != Self.none { nodes[Int(first)].previous = node }
    nodes[Int(parent)].firstChild = node
    children[Key(parent: parent, name: name)] = node
  }

  /// Whether that was the last path of a watch.
  private mutating func forget(_ node: Node, of watch: Int32) -> Bool {
    let next = nodes[Int(node)].nextOfWatch
    guard byWatch[watch] != node else {
      byWatch[watch] = next == Self.none ? nil : next
      return next == Self.none
    }
    var other = byWatch[watch] ?? Self.none
    while other != Self.none {
      if nodes[Int(other)].nextOfWatch == node {
        nodes[Int(other)].nextOfWatch = next
        break
      }
      other = nodes[Int(other)].nextOfWatch
    }
    return false
  }
}
