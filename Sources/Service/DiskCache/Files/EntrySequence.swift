// Entries of one kind as one piece of bytes, for a store on another machine: their files, one after the other
// (EntryFile.swift has the layout). Each file has its key, its epoch and a checksum, so a reader can check
// that the bytes are those that were stored.

package enum EntrySequence {
  /// The entries' files.
  package static func bytes(
    of entries: [(key: DiskStore.Key, entry: DiskEntry)], _ kind: DiskStore.Kind, epoch: UInt32
  ) -> [UInt8] {
    let group = EntryGroup(kind: kind, epoch: epoch)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(entries.reduce(0) { $0 + EntryFile.prefixBytes + $1.entry.bytes.count })
    for (key, entry) in entries {
      bytes += EntryFile.prefix(of: entry, EntryName(group: group, key: key))
      bytes += entry.bytes
    }
    return bytes
  }

  /// The entries of exactly these keys, in this order. Any other content is a defect.
  package static func entries(
    in bytes: [UInt8], of keys: [DiskStore.Key], _ kind: DiskStore.Kind, epoch: UInt32
  ) throws(EntryDefect) -> [DiskEntry] {
    let group = EntryGroup(kind: kind, epoch: epoch)
    var rest = bytes[...]
    var entries: [DiskEntry] = []
    for key in keys {
      let (entry, fileBytes) = try EntryFile.read(rest, as: EntryName(group: group, key: key))
      entries.append(entry)
      rest = rest.dropFirst(fileBytes)
    }
    guard rest.isEmpty else { throw .length }
    return entries
  }
}
