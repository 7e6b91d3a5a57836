// Chooses the picture that a video or a RAW file of an export belongs to, if several pictures have its name: the one
// with the same content identifier, otherwise the one whose date is nearest. Files are read only if there is a choice.

import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFolder
import LibraryScan

struct PictureChoice {
  /// How well a picture fits; the smallest rank is the best.
  struct Rank: Hashable, Comparable {
    /// 0: the content identifiers are equal; 1: one of the files has none; 2: they differ.
    var identifier = 1
    /// The distance of the dates in milliseconds; the largest number if a file has no date.
    var distance = Int64.max
    /// 0: HEIC, as phones write the pictures of live photos, beside which a JPEG is often made; 1: another format.
    var format = 0

    init(_ picture: ProbedMedia, of companion: ProbedMedia) {
      if let one = picture.contentIdentifier, let other = companion.contentIdentifier {
        identifier = one == other ? 0 : 2
      }
      if let date = picture.embeddedDate, let other = companion.embeddedDate { distance = abs(date - other) }
      let isHEIC = picture.uniformTypeIdentifier == MediaFormat.heic.uniformTypeIdentifier
      format = companion.mediaType == .video && !isHEIC ? 1 : 0
    }

    /// Of a picture that can't be read.
    init() { identifier = 3 }

    static func < (one: Rank, other: Rank) -> Bool {
      (one.identifier, one.distance, one.format) < (other.identifier, other.distance, other.format)
    }
  }

  private let probe: FileProbe

  /// - Parameter root: the folder of the export.
  init(root: LibraryFolder) {
    // The zone of dates without an offset counts only between pictures that were taken within a day.
    probe = FileProbe(root: root, limits: CodecLimits(), timeZone: .gmt)
  }

  /// The picture of a companion among candidates; of several that fit equally well, the first. All are paths.
  func picture(of companion: [UInt8], among candidates: [[UInt8]]) -> [UInt8]? {
    guard candidates.count > 1, case .media(let media) = probe.probe(companion).finding else { return candidates.first }
    let ranked = candidates.map { candidate in (path: candidate, rank: rank(candidate, of: media)) }
    return ranked.min { $0.rank < $1.rank }?.path
  }

  private func rank(_ picture: [UInt8], of companion: ProbedMedia) -> Rank {
    guard case .media(let media) = probe.probe(picture).finding else { return Rank() }
    return Rank(media, of: companion)
  }
}
