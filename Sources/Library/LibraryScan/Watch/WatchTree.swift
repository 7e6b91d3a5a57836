// Maps each watch to its folders. Folders form a tree by name, so the rename of a folder changes one entry and takes
// the whole subtree along.
//
// A caller may hold a `Node` while its folder is removed and its slot is reused, for example during a rename whose
// other half has not arrived. Each node therefore carries a number: operations on a removed node find a different
// number in the slot and do nothing.
//
// A folder takes some 200 bytes here; the kernel takes about a kilobyte for the watch and the inode that it holds.

struct WatchTree {
  /// A folder. It stays valid until the folder is removed from the tree; after that it matches no folder.
  struct Node: Hashable {
    fileprivate let slot: Slot
    fileprivate let number: UInt32
  }

  /// An index into `entries`.
  fileprivate typealias Slot = Int32

  private static let rootSlot: Slot = 0
  private static let none: Slot = -1

  private struct Entry {
    var name: [UInt8]
    /// The number of the folder in this slot; 0 for a free slot.
    var number: UInt32
    var parent: Slot
    var firstChild = none
    var next = none
    var previous = none
    /// The watch descriptor. A folder that links lead to has one descriptor for all its paths.
    var watch: Int32
    var nextOfWatch = none
    /// The last scan that listed the folder.
    var scan: UInt32
  }

  private struct Key: Hashable {
    let parent: Slot
    let name: [UInt8]
  }

  private var entries: [Entry] = []
  private var free: [Slot] = []
  private var children: [Key: Slot] = [:]
  private var byWatch: [Int32: Slot] = [:]
  /// The number of the most recently added folder.
  private var lastNumber: UInt32 = 0

  /// Number of folders; a folder with several paths counts once for each.
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  var root: Node? { isEmpty ? nil : node(in: Self.rootSlot) }

  // MARK: Lookup

  /// `nil` for a folder that was removed.
  private func slot(of node: Node) -> Slot? {
    entries.indices.contains(Int(node.slot)) && entries[Int(node.slot)].number == node.number ? node.slot : nil
  }

  private func node(in slot: Slot) -> Node { Node(slot: slot, number: entries[Int(slot)].number) }

  func watch(of node: Node) -> Int32? { slot(of: node).map { entries[Int($0)].watch } }

  func child(of node: Node, _ name: [UInt8]) -> Node? {
    slot(of: node).flatMap { children[Key(parent: $0, name: name)] }.map(node(in:))
  }

  /// The folder at a path; `nil` if it is unknown.
  func node(at path: [UInt8]) -> Node? {
    guard var node = root else { return nil }
    if path.isEmpty { return node }
    for name in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      guard let next = child(of: node, Array(name)) else { return nil }
      node = next
    }
    return node
  }

  /// The folders of a watch, one for each path.
  func nodes(of watch: Int32) -> [Node] {
    var found: [Node] = []
    var slot = byWatch[watch] ?? Self.none
    while slot != Self.none {
      found.append(node(in: slot))
      slot = entries[Int(slot)].nextOfWatch
    }
    return found
  }

  /// The path below the root; `nil` for a folder that is detached or removed.
  func path(of node: Node) -> [UInt8]? {
    guard var slot = slot(of: node) else { return nil }
    var names: [Slot] = []
    while slot != Self.rootSlot {
      names.append(slot)
      slot = entries[Int(slot)].parent
      if slot == Self.none { return nil }
    }
    var path: [UInt8] = []
    for slot in names.reversed() {
      if !path.isEmpty { path.append(UInt8(ascii: "/")) }
      path += entries[Int(slot)].name
    }
    return path
  }

  // MARK: Changes

  /// Adds a folder, or marks a known one as seen by this scan. A folder of the same name with another watch is removed
  /// with its subtree.
  ///
  /// - Parameter parent: a folder in the tree; `nil`: the new folder is the root.
  /// - Returns: watches that are no longer used.
  mutating func put(_ name: [UInt8], in parent: Node?, watch: Int32, scan: UInt32) -> [Int32] {
    var freed: [Int32] = []
    if let known = parent.map({ child(of: $0, name) }) ?? root {
      if entries[Int(known.slot)].watch == watch {
        entries[Int(known.slot)].scan = scan
        return []
      }
      freed = remove(known)
    }
    lastNumber = lastNumber == .max ? 1 : lastNumber + 1
    var entry = Entry(name: name, number: lastNumber, parent: Self.none, watch: watch, scan: scan)
    entry.nextOfWatch = byWatch[watch] ?? Self.none
    let slot: Slot
    // Removing the root empties the tree, so slot 0 always belongs to the root.
    if let free = free.popLast() {
      entries[Int(free)] = entry
      slot = free
    } else {
      entries.append(entry)
      slot = Slot(entries.count - 1)
    }
    byWatch[watch] = slot
    count += 1
    if let parent { link(slot, below: parent.slot, name) }
    return freed.filter { byWatch[$0] == nil }
  }

  /// Detaches a folder and its subtree: it is being renamed.
  mutating func detach(_ node: Node) { if let slot = slot(of: node) { detach(slot) } }

  private mutating func detach(_ slot: Slot) {
    let entry = entries[Int(slot)]
    guard entry.parent != Self.none else { return }
    children[Key(parent: entry.parent, name: entry.name)] = nil
    if entry.previous != Self.none {
      entries[Int(entry.previous)].next = entry.next
    } else {
      entries[Int(entry.parent)].firstChild = entry.next
    }
    if entry.next != Self.none { entries[Int(entry.next)].previous = entry.previous }
    entries[Int(slot)].parent = Self.none
    entries[Int(slot)].next = Self.none
    entries[Int(slot)].previous = Self.none
  }

  /// Attaches a detached folder at its new place. The folder that had this name before is removed; if a scan has
  /// already added the same folder there, that entry stays.
  ///
  /// - Parameters:
  ///   - node: a detached folder; nothing happens if it was removed meanwhile.
  ///   - parent: if it was removed, the folder is removed too.
  /// - Returns: watches that are no longer used.
  mutating func attach(_ node: Node, to parent: Node, _ name: [UInt8]) -> [Int32] {
    guard let slot = slot(of: node) else { return [] }
    guard let above = self.slot(of: parent) else { return remove(node) }
    var next = above
    while next != Self.none {
      // Later events may name the folder below itself; a scan will find its place.
      if next == slot { return remove(node) }
      next = entries[Int(next)].parent
    }
    var freed: [Int32] = []
    if let other = child(of: parent, name) {
      if entries[Int(other.slot)].watch == entries[Int(slot)].watch { return remove(node) }
      freed = remove(other)
    }
    link(slot, below: above, name)
    return freed
  }

  /// Removes a folder and its subtree; does nothing if it was already removed.
  ///
  /// - Returns: watches that are no longer used.
  mutating func remove(_ node: Node) -> [Int32] {
    guard let top = slot(of: node) else { return [] }
    if top == Self.rootSlot { return removeAll() }
    detach(top)
    var freed: [Int32] = []
    var waiting = [top]
    while let slot = waiting.popLast() {
      let entry = entries[Int(slot)]
      var child = entry.firstChild
      while child != Self.none {
        waiting.append(child)
        child = entries[Int(child)].next
      }
      if entry.parent != Self.none { children[Key(parent: entry.parent, name: entry.name)] = nil }
      if forget(slot, of: entry.watch) { freed.append(entry.watch) }
      entries[Int(slot)] = Entry(name: [], number: 0, parent: Self.none, watch: -1, scan: 0)
      free.append(slot)
      count -= 1
    }
    return freed
  }

  /// Removes the root, its subtree and all detached folders.
  private mutating func removeAll() -> [Int32] {
    let freed = Array(byWatch.keys)
    let number = lastNumber
    self = WatchTree()
    lastNumber = number
    return freed
  }

  /// Removes the folders that a full scan did not list.
  ///
  /// - Returns: watches that are no longer used.
  mutating func removeAll(notOfScan scan: UInt32) -> [Int32] {
    var freed: [Int32] = []
    for slot in entries.indices where entries[slot].number != 0 && entries[slot].scan != scan {
      freed += remove(node(in: Slot(slot)))
      if isEmpty { break }
    }
    return freed.filter { byWatch[$0] == nil }
  }

  private mutating func link(_ slot: Slot, below parent: Slot, _ name: [UInt8]) {
    let first = entries[Int(parent)].firstChild
    entries[Int(slot)].name = name
    entries[Int(slot)].parent = parent
    entries[Int(slot)].next = first
    entries[Int(slot)].previous = Self.none
    if first != Self.none { entries[Int(first)].previous = slot }
    entries[Int(parent)].firstChild = slot
    children[Key(parent: parent, name: name)] = slot
  }

  /// Whether this was the last path of its watch.
  private mutating func forget(_ slot: Slot, of watch: Int32) -> Bool {
    let next = entries[Int(slot)].nextOfWatch
    guard byWatch[watch] != slot else {
      byWatch[watch] = next == Self.none ? nil : next
      return next == Self.none
    }
    var other = byWatch[watch] ?? Self.none
    while other != Self.none {
      if entries[Int(other)].nextOfWatch == slot {
        entries[Int(other)].nextOfWatch = next
        break
      }
      other = entries[Int(other)].nextOfWatch
    }
    return false
  }
}
