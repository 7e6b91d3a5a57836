/// A part of a picture that shows something in particular, such as a face.
package struct PictureRegion: Sendable, Hashable {
  package enum Kind: String, Sendable, Hashable, CaseIterable { case face, pet, focus, barcode }

  package var kind: Kind
  /// In the upright picture. A side may be 0: the region is then a line or a point.
  package var rect: UnitRect
  /// The name of the person or the animal.
  package var name: String?

  package init(_ kind: Kind, _ rect: UnitRect, name: String? = nil) {
    self.kind = kind
    self.rect = rect
    self.name = name
  }
}

/// Limits of regions, from files and from change lists. Regions of a file that exceed them are ignored.
package enum RegionLimits {
  package static let regions = 100
  /// In UTF-8 bytes.
  package static let nameBytes = DescriptiveLimits.wordBytes
}

/// A point in the unit square.
package struct UnitPoint: Sendable, Hashable {
  package var x: Double
  package var y: Double

  package init(x: Double, y: Double) {
    self.x = x
    self.y = y
  }
}
