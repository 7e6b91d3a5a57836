import Foundation
import ImageCodec
import ImageRender
import MediaMetadata
import PhotoModel

/// Adjustments: the first byte selects what the rest is.
///
///     0   a JSON list of operations: valid ones print as the same operations, and render
///     1   Apple's adjustment sidecar (AAE)
///     2   an XMP packet with Camera Raw's or Apple's edit, in a picture's file or in a sidecar
///
/// Every edit of another program that is read must be renderable, in every orientation.
enum AdjustmentTarget {
  private static let picture = PixelSize(width: 64, height: 48)

  static func check(_ bytes: [UInt8]) {
    guard let kind = bytes.first else { return }
    let rest = bytes.dropFirst()
    switch kind % 3 {
    case 0: operations(rest)
    case 1: edit(ForeignEdit(aae: Array(rest)))
    default:
      edit(ForeignEdit(xmp: rest, isSidecar: false))
      edit(ForeignEdit(xmp: rest, isSidecar: true))
    }
  }

  private static func operations(_ text: ArraySlice<UInt8>) {
    guard let json = try? JSONDecoder().decode(JSONValue.self, from: Data(text)) else { return }
    do throws(AdjustmentError) {
      let adjustments = try Adjustments(json)
      precondition(parsed(adjustments.json) == adjustments, adjustments.json)
      render(adjustments)
    } catch {
      precondition(!error.description.isEmpty && error.description.utf8.count < 500, "the text of an error")
    }
  }

  private static func parsed(_ text: String) -> Adjustments? {
    guard let json = try? JSONDecoder().decode(JSONValue.self, from: Data(text.utf8)) else { return nil }
    do throws(AdjustmentError) { return try Adjustments(json) } catch { return nil }
  }

  private static func edit(_ edit: ForeignEdit?) {
    guard let edit else { return }
    precondition(edit.unknown.count <= ForeignEdit.maximumNames, "too many names")
    precondition(edit.unknown.allSatisfy { $0.utf8.count <= ForeignEdit.maximumNameBytes + 2 }, "a long name")
    let stored = try? JSONDecoder().decode(ForeignEdit.self, from: JSONEncoder().encode(edit))
    precondition(stored == edit, "another edit after it was stored")
    for orientation in Orientation.allCases {
      for size in [picture, PixelSize(width: 4032, height: 3024)] {
        let rendering = edit.rendering(of: orientation.apply(to: size), orientation, includesTones: true)
        precondition(parsed(rendering.operations.json) == rendering.operations, rendering.operations.json)
        if size == picture, orientation == .topLeft { render(rendering.operations) }
      }
    }
  }

  /// Renders a small picture, which must succeed and give the planned size. The address sanitizer finds writes outside
  /// of rows.
  private static func render(_ adjustments: Adjustments) {
    let geometry = AdjustedGeometry(adjustments, of: picture)
    precondition(geometry.size.width >= 1 && geometry.size.height >= 1, "an empty picture")
    precondition(geometry.size.width <= 8192 && geometry.size.height <= 8192, "a picture that grew")
    // Each operation takes milliseconds.
    guard adjustments.operations.count <= 12 else { return }
    let source = MemoryByteSource(Seeds.picture)
    let limits = PictureTarget.limits
    do {
      let header = try ImageHeader.read(from: source, limits: limits)
      let request = ImageRequest(targetSize: .size(PixelSize(width: 40, height: 40)), format: .png)
      let plan = RenderPlanner().plan(header, header.sized(request, adjustments))
      let image = try Renderer(plan, source: source, limits: limits, stop: StopFlag()).render()
      precondition(image.size == plan.outputSize, "another size than planned")
      let again = try ImageHeader.read(from: MemoryByteSource(image.bytes), limits: limits)
      precondition(again.storedSize == image.size, "another size than stated")
    } catch {
      preconditionFailure("valid operations were not rendered: \(error)")
    }
  }
}
