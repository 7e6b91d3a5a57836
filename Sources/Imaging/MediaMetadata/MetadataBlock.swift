import PhotoModel

/// The kind and the range of a metadata block in a file, from the block's own first byte.
package struct MetadataBlock: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A TIFF header and its directories, without the signature that JPEG puts before them (CIPA DC-008 §4.5).
    case exif
    /// An XMP packet, UTF-8 (ISO 16684-1).
    case xmp
    /// A part of an extended XMP packet, from the GUID after its signature (XMP specification part 3 §1.1.3.1).
    case extendedXMP
    /// IPTC-IIM datasets, without their container (IIM 4.2 §1.6).
    case iptc
    /// A multi-picture index, from its TIFF header (CIPA DC-007 §5).
    case multiPicture
    /// An XMP packet as a zlib stream, from a PNG's iTXt chunk.
    case deflatedXMP
    /// EXIF, IPTC or XMP in a PNG's text, as ImageMagick stores it: ``RawProfile``.
    case rawProfile
    /// Like ``rawProfile``, as a zlib stream.
    case deflatedRawProfile
  }

  package let kind: Kind
  package let range: ByteRange

  package init(_ kind: Kind, _ range: ByteRange) {
    self.kind = kind
    self.range = range
  }
}
