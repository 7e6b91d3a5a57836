import PhotoModel

extension DescriptiveMetadata {
  /// Texts that cameras write into ImageDescription by default, in lower case.
  private static let cameraTexts: Set<String> = [
    "olympus digital camera", "minolta digital camera", "konica minolta digital camera", "digital camera", "sony dsc",
    "samsung digital camera", "samsung", "kodak digital still camera", "exif_jpeg_picture", "exif jpeg", "default",
    "untitled", "camera", "image",
  ]

  /// The first directory's ImageDescription and Copyright, and the EXIF directory's LensModel; `nil` if the block has
  /// none of them.
  ///
  /// - Parameters:
  ///   - description: the bytes of tag 0x010E.
  ///   - lens: the bytes of tag 0xA434.
  ///   - copyright: the bytes of tag 0x8298: the photographer's, and the editor's after a NUL.
  init?(
    imageDescription description: ArraySlice<UInt8>?, lensModel lens: ArraySlice<UInt8>?,
    copyright: ArraySlice<UInt8>? = nil
  ) {
    self.init()
    caption = DescriptiveText.caption(description.map(MetadataText.decoded))
    if let text = caption?.lowercased(), Self.cameraTexts.contains(text) || text.hasPrefix("dcim\\") { caption = nil }
    lensModel = DescriptiveText.name(lens.map(MetadataText.decoded))
    // Some cameras write "----" for a lens without contacts.
    if let lens = lensModel, !lens.contains(where: { $0.isLetter || ("1"..."9").contains($0) }) { lensModel = nil }
    rights = DescriptiveText.name(copyright.map { MetadataText.decoded($0.prefix { $0 != 0 }) })
    if caption == nil, lensModel == nil, rights == nil { return nil }
  }
}
