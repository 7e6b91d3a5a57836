import PhotoModel

/// Where a block of metadata lies in a file, from the block's own first byte on.
package struct MetadataBlock: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A TIFF header and its directories, without what JPEG puts before it (CIPA DC-008 §4.5).
    case exif
    /// An XMP packet, UTF-8 (ISO 16684-1).
    case xmp
    /// A part of an extended XMP packet, from the GUID behind its signature on (XMP specification part 3 §1.1.3.1).
    case extendedXMP
    /// IPTC-IIM datasets, out of whatever held them (IIM 4.2 §1.6).
    case iptc
    /// A multi-picture index from its TIFF header on (CIPA DC-007 §5).
    case multiPicture
    /// An XMP packet as a zlib stream, as a PNG's iTXt may hold it.
    case deflatedXMP
    /// ImageMagick's way to keep EXIF, IPTC or XMP in a PNG's text: ``RawProfile``.
    case rawProfile
    /// The same as a zlib stream.
    case deflatedRawProfile
  }

  package let kind: Kind
  package let range: ByteRange

  package init(_ kind: Kind, _ range: ByteRange) {
    self.kind = kind
    self.range = range
  }
}
