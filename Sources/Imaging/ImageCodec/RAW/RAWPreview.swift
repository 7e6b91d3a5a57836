import PhotoModel

/// A JPEG that a camera has stored in its RAW file: the developed picture, at full size or smaller.
package struct RAWPreview: Sendable, Hashable {
  /// The position of the whole JPEG in the RAW file.
  package let range: ByteRange
  /// The JPEG's own header. Its positions count from the start of the JPEG, and its orientation is that of the JPEG:
  /// cameras turn a preview by the RAW file's orientation.
  package let header: ImageHeader

  /// Whether the preview has a description of its colours: a profile, or EXIF, without which it is in the colour space
  /// that the RAW file states.
  var describesColors: Bool { header.embeddedProfile != nil || !header.metadata.isEmpty }

  /// Whether the preview has the aspect ratio of a picture. The preview of many cameras lacks a few rows or columns at
  /// the borders, so a difference of a fiftieth does not count; thumbnails with black bars differ by an eighth.
  ///
  /// - Parameter picture: the size of the developed RAW picture as stored.
  func hasAspect(of picture: PixelSize) -> Bool {
    guard picture.width > 0, picture.height > 0 else { return false }
    let one = header.storedSize.width * picture.height
    let other = picture.width * header.storedSize.height
    return abs(one - other) * 50 <= max(one, other)
  }
}
