import PhotoModel

/// The result of probing one file.
package struct ProbedFile: Sendable {
  /// In an object of its own, because it is large and many structures contain it.
  package indirect enum Finding: Sendable {
    case media(ProbedMedia)
    /// Not a picture or video, or unreadable: the reason, for display.
    case unreadable(String)
  }

  /// The path below the root.
  package let path: [UInt8]
  /// The identity of the file when it was read; `.unknown`, which matches no file, if it could not be opened.
  package let identity: FileIdentity
  package let finding: Finding
  /// Time of the last change of contents, name or mode (ctime), in nanoseconds since 1970; 0: not known.
  package var changeTimeNanoseconds: Int64 = 0
  /// A writer has closed the file since the last scan.
  package var wasWritten = false
  /// The edit that another program left in this sidecar.
  package var sidecarEdit: ForeignEdit?
  /// The row of the missing file that this file was recognised as.
  package var movedFromRow: Int64?
  /// It is a known file with a new name, and joins an asset that it belongs to, like a new file: see `Catalogue.move`.
  package var mayJoin = false

  /// Whether the file system seems to keep change times in steps of 10 ms or more (exFAT: 10 ms, ext4 with small inodes:
  /// 1 s, FAT: 2 s). A write may leave such a time as it was. One fine time in a million looks like that, too, and its
  /// only price is a new version.
  var hasCoarseChangeTime: Bool { changeTimeNanoseconds % 10_000_000 == 0 }

  package init(path: [UInt8], identity: FileIdentity, finding: Finding) {
    self.path = path
    self.identity = identity
    self.finding = finding
  }
}
