import PhotoModel

/// A JPEG that a camera has stored in its RAW file: the developed picture, at full size or smaller.
package struct RAWPreview: Sendable, Hashable {
  /// The position of the whole JPEG in the RAW file.
  package let range: ByteRange
  /// The JPEG's own header. Its positions count from the start of the JPEG, and its orientation is that of the JPEG:
  /// cameras turn a preview by the RAW file's orientation.
  package let header: ImageHeader

  /// Whether the preview has the aspect ratio of a picture. A difference of less than one row or column on each side
  /// is rounding; thumbnails with black bars differ by more.
  ///
  /// - Parameter picture: the size of the developed RAW picture as stored.
  package func hasAspect(of picture: PixelSize) -> Bool {
    guard picture.width > 0, picture.height > 0 else { return false }
    let (width, height) = (Double(header.storedSize.width), Double(header.storedSize.height))
    let aspect = Double(picture.width) / Double(picture.height)
    return abs(width - height * aspect) < 2 || abs(height - width / aspect) < 2
  }
}

extension Collection<RAWPreview> {
  /// The smallest preview that has the aspect ratio of the picture and at least the pixels of `wanted` on both sides;
  /// `nil` if none has.
  ///
  /// - Parameters:
  ///   - wanted: the size to which the whole picture is scaled, as stored.
  ///   - picture: the size of the developed RAW picture, as stored.
  package func smallest(serving wanted: PixelSize, of picture: PixelSize) -> RAWPreview? {
    filter {
      $0.hasAspect(of: picture) && $0.header.storedSize.width >= wanted.width
        && $0.header.storedSize.height >= wanted.height
    }
    .min { $0.header.storedSize.width < $1.header.storedSize.width }
  }
}
