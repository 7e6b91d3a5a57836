/// Limits for archives.
package struct ArchiveLimits: Sendable {
  /// Maximum number of files in an archive; less than ``ChecksumCache/capacity``.
  package var files = 100_000
  /// Maximum number of archives that are planned or sent at a time.
  package var concurrent = 8
  /// Maximum time for opening the files of an archive before it is sent.
  package var planTime = Duration.seconds(600)
  /// Memory for the plans of all archives.
  package var memoryBytes = 256 << 20

  package init() {}
}
