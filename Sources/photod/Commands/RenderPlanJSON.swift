import ImageCodec
import ImageRender
import PhotoModel

/// A plan as `photod render --explain` prints it.
struct RenderPlanJSON: Encodable {
  struct Size: Encodable {
    let width: Int
    let height: Int

    init(_ size: PixelSize) { (width, height) = (size.width, size.height) }
  }

  struct Rect: Encodable {
    let x, y, width, height: Double
  }

  /// A plane that stays separate from the decoder to the encoder.
  struct Plane: Encodable {
    let taps: Size
    let output: Size

    init(_ axes: PlaneAxes) {
      taps = Size(PixelSize(width: axes.horizontal.taps, height: axes.vertical.taps))
      output = Size(axes.storedOutput)
    }
  }

  let format: String
  let storedSize: Size
  let orientation: Int
  let isProgressive: Bool
  let hasAlpha: Bool
  let region: Rect
  let dctScale: String?
  let decoded: Rect
  let taps: Size
  let planes: [Plane]
  let output: Size
  let outputFormat: String
  let colorSpace: String
  /// The size of the gain map in the output.
  let gainMap: Size?
  let peakBytes: Int

  init(_ plan: RenderPlan) {
    let part = plan.decodedRegion
    format = plan.header.format.rawValue
    storedSize = Size(plan.header.storedSize)
    orientation = plan.orientation.rawValue
    isProgressive = plan.header.isProgressive
    hasAlpha = plan.header.hasAlpha
    region = Rect(x: plan.region.x, y: plan.region.y, width: plan.region.width, height: plan.region.height)
    dctScale = plan.header.scalesDecodes ? "\(plan.eighths)/8" : nil
    decoded = Rect(
      x: Double(part.x), y: Double(part.y), width: Double(part.width), height: Double(part.height))
    taps = Size(PixelSize(width: plan.horizontal.taps, height: plan.vertical.taps))
    planes = plan.planes.map { Plane($0) }
    output = Size(plan.outputSize)
    outputFormat = plan.format.rawValue
    colorSpace = plan.colorSpace.rawValue
    gainMap = plan.gainMap.map { Size($0.outputSize) }
    peakBytes = plan.peakBytes
  }
}
