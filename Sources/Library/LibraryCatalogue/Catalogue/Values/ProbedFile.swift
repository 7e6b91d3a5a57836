import PhotoModel

/// The result of probing one file.
package struct ProbedFile: Sendable {
  /// Indirect, because media are large and many structures contain a finding.
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
  /// The time of the last change of contents, name or mode (ctime), in nanoseconds since 1970; 0 if unknown.
  package var changeTimeNanoseconds: Int64 = 0
  /// A writer has closed the file since the last scan.
  package var wasWritten = false
  /// The edit that another program left in this sidecar.
  package var sidecarEdit: ForeignEdit?
  /// The row of the missing file that this file was recognised as, at its new path.
  package var movedFromRow: Int64?
  /// The file is known but has a new name, and may join another asset like a new file: see `Catalogue.move`.
  package var mayJoin = false

  /// Whether the file system seems to store change times in steps of 10 ms or more (exFAT: 10 ms, ext4 with small
  /// inodes: 1 s, FAT: 2 s), so that a write may not change them. A precise time rarely looks like this; the only cost
  /// is a new content version.
  var hasCoarseChangeTime: Bool { changeTimeNanoseconds % 10_000_000 == 0 }

  package init(path: [UInt8], identity: FileIdentity, finding: Finding) {
    self.path = path
    self.identity = identity
    self.finding = finding
  }
}
