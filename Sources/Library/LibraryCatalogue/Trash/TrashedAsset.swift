import PhotoModel

/// An asset in the trash.
package struct TrashedAsset: Sendable, Hashable {
  package let identifier: LocalIdentifier
  package let deletedDate: Timestamp
  /// When the asset is deleted permanently.
  package let purgeDate: Timestamp
  package let originalFilename: String
  package let mediaType: MediaType
  /// The size of the primary file in bytes.
  package let fileSize: Int64
}
