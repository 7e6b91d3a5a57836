import LibraryFolder
import MediaMetadata
import PhotoModel

/// Reads the edit that a sidecar describes: Apple's adjustment data, or an XMP packet.
enum SidecarEdit {
  /// `nil` for a file that is not a sidecar by its name, is longer than ``ForeignEdit/maximumSidecarBytes``, can't be
  /// read or describes no edit.
  static func read(_ file: any ByteSource, at path: [UInt8]) -> ForeignEdit? {
    let suffix = String(decoding: path.suffix(4), as: UTF8.self).lowercased()
    guard [".aae", ".xmp"].contains(suffix), file.size <= Int64(ForeignEdit.maximumSidecarBytes) else { return nil }
    let bytes: [UInt8]
    do throws(ByteSourceError) {
      bytes = try file.bytes(at: 0, count: ForeignEdit.maximumSidecarBytes)
    } catch {
      // The edit is not applied. The file's identity stays recorded, so it is read again when it changes.
      return nil
    }
    return suffix == ".aae" ? ForeignEdit(aae: bytes) : ForeignEdit(xmp: bytes[...], isSidecar: true)
  }
}
