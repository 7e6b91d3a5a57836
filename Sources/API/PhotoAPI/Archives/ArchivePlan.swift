import PhotoModel
import ZipFormat

/// The contents of an archive: its layout, and the file of each entry. It does not change, so all ranges of it belong
/// together.
final class ArchivePlan: Sendable {
  /// The last entry, if files are left out.
  static let errorsName = "photod-errors.txt"

  let layout: ZipLayout
  let files: ArchiveListing
  /// The content of ``errorsName``; empty if all files are in the archive.
  let errors: [UInt8]
  let includesLocation: Bool
  /// Changes with every byte of the archive.
  let entityTag: String
  /// Names the plan in ``ArchivePlans``.
  let key: String

  init(
    _ layout: ZipLayout, _ files: ArchiveListing, errors: [UInt8], includesLocation: Bool, entityTag: String,
    key: String
  ) {
    self.layout = layout
    self.files = files
    self.errors = errors
    self.includesLocation = includesLocation
    self.entityTag = entityTag
    self.key = key
  }

  /// The memory that it takes; the layout's names are counted with the paths.
  var bytes: Int { files.bytes * 2 + errors.count }
}
