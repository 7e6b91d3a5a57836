// Makes folder and index consistent again: removes files without a row, and rows without a file.
//
// Needed only when committed rows may be lost. That happens after a power failure, which may take the journal's last
// transactions but not always the files that were written after them; and after a damaged index, which was removed, so
// that every file is without a row. A kill or a normal exit needs no sweep, because rows are committed before their
// files are written.
//
// One step handles one of a group's 256 folders, a few thousand names, on the writer's queue. Nothing is stored until
// the sweep is done, so that the capacity is respected.

struct FolderSweep {
  private var steps: [(group: EntryGroup, prefix: UInt8)]

  var isDone: Bool { steps.isEmpty }

  init(_ folder: CacheFolder, _ index: DiskIndex) throws {
    let groups = Set(try folder.groups()).union(index.totals.keys)
    steps = groups.flatMap { group in (UInt8.min...UInt8.max).map { (group, $0) } }
  }

  mutating func step(_ folder: CacheFolder, _ index: DiskIndex) throws {
    guard let (group, prefix) = steps.last else { return }
    let files = try folder.keys(in: group, prefix: prefix)
    let rows = try index.keys(in: group, prefix: prefix)
    for key in files.subtracting(rows) { _ = try folder.remove(EntryName(group: group, key: key)) }
    let lost = rows.subtracting(files)
    if !lost.isEmpty {
      try index.transaction { transaction in
        for key in lost { try transaction.remove(EntryName(group: group, key: key)) }
      }
    }
    steps.removeLast()
  }
}
