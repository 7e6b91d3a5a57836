import Foundation
import PhotoModel

/// Regions as the catalogue stores them: a JSON array, NULL for none. Equal regions give equal text.
enum RegionList {
  private struct Entry: Codable {
    let type: String
    /// x, y, width and height.
    let rect: [Double]
    let name: String?
  }

  static func json(_ regions: [PictureRegion]) -> String? {
    guard !regions.isEmpty else { return nil }
    let entries = regions.map {
      Entry(type: $0.kind.rawValue, rect: [$0.rect.x, $0.rect.y, $0.rect.width, $0.rect.height], name: $0.name)
    }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do { return String(decoding: try encoder.encode(entries), as: UTF8.self) } catch {
      preconditionFailure("finite numbers and strings can always be encoded: \(error)")
    }
  }

  /// Throws for any other text, which only damage can have caused. Reading it as an empty list could lead to storing
  /// the empty list.
  static func regions(_ json: String?) throws -> [PictureRegion] {
    guard let json else { return [] }
    return try JSONDecoder().decode([Entry].self, from: Data(json.utf8)).compactMap { entry in
      guard let kind = PictureRegion.Kind(rawValue: entry.type), entry.rect.count == 4 else { return nil }
      let rect = UnitRect(x: entry.rect[0], y: entry.rect[1], width: entry.rect[2], height: entry.rect[3])
      return PictureRegion(kind, rect, name: entry.name)
    }
  }

  /// Like ``regions(_:)``, but a damaged list reads as empty: see ``TextList/readableStrings(_:)``.
  static func readableRegions(_ json: String?) -> [PictureRegion] { (try? regions(json)) ?? [] }
}

/// A point of a picture as one number: both coordinates in thousandths.
enum StoredPoint {
  private static let base = 1001

  static func number(_ point: UnitPoint) -> Int {
    func thousandths(_ value: Double) -> Int { Int((min(1, max(0, value)) * 1000).rounded()) }
    return thousandths(point.x) * base + thousandths(point.y)
  }

  static func point(_ number: Int?) -> UnitPoint? {
    number.map { UnitPoint(x: Double($0 / base) / 1000, y: Double($0 % base) / 1000) }
  }
}
