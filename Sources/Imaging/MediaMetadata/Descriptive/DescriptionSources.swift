// The descriptive metadata of a file, by the kind of block that states it, and the rule that decides between them:
//
//     title, caption, keywords, people, place, rights
//                                                XMP, then IPTC-IIM, then EXIF
//     lens                                       EXIF, then XMP
//
// The first block that states a property decides it; values of several blocks are not mixed, and a place is taken from
// one block as a whole. This is the order of the Metadata Working Group's guidelines (version 2.0) for files whose IPTC
// was not changed after their XMP, with one difference: EXIF comes last, because many cameras write their own name into
// ImageDescription. The IPTC digest, by which programs without XMP could be recognised, is not evaluated.

import PhotoModel

/// Descriptive metadata by its source.
package struct DescriptionSources: Sendable, Hashable {
  var xmp: DescriptiveMetadata?
  var iptc: DescriptiveMetadata?
  package var exif: DescriptiveMetadata?

  package init() {}

  /// Adds the descriptions of another block, for kinds of blocks that have none yet.
  mutating package func add(_ other: DescriptionSources) {
    xmp = xmp ?? other.xmp
    iptc = iptc ?? other.iptc
    exif = exif ?? other.exif
  }

  /// One value of each property.
  var merged: DescriptiveMetadata {
    let sources = [xmp, iptc, exif].compactMap(\.self)
    var merged = DescriptiveMetadata()
    for source in sources {
      merged.title = merged.title ?? source.title
      merged.caption = merged.caption ?? source.caption
      if merged.keywords.isEmpty { merged.keywords = source.keywords }
      if merged.people.isEmpty { merged.people = source.people }
      if merged.place.isEmpty { merged.place = source.place }
      merged.rights = merged.rights ?? source.rights
      merged.license = merged.license ?? source.license
    }
    merged.lensModel = exif?.lensModel ?? xmp?.lensModel
    return merged
  }
}
