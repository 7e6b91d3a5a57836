import ArgumentParser
import Foundation
import ImageCodec
import ImageRender
import LibraryFolder
import PhotoModel

/// Renders one file without a library, with the same planner and renderer as the `/image` route.
struct Render: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Render one file upright at a given size, without a library.")

  @Argument(help: "The input: a picture of any format that is rendered.")
  var input: String

  @Option(help: "The target size: max, or WxH in pixels.")
  var targetSize = "max"

  @Option(help: "aspectFit or aspectFill.")
  var contentMode = ContentMode.aspectFit

  @Option(help: "exact, fast or none.")
  var resizeMode = ResizeMode.exact

  @Option(help: "jpeg, png, webp, avif or jxl. Default: by the output's extension, otherwise jpeg.")
  var format: OutputFormat?

  @Option(help: "The quality of a lossy format, from 1 to 100.")
  var quality: Int?

  @Option(help: "preserve or srgb.")
  var colorSpace = ColorSpace.preserve

  @Option(help: "preserve: a JPEG keeps a gain map. standard: none. high: AVIF or JPEG XL in PQ with 10 bits.")
  var dynamicRange = DynamicRange.preserve

  @Option(help: "encoded or linear: whether the picture is scaled in the file's values or in linear light.")
  var resample = Resampling.encoded

  @Option(help: "8 or 16 bits a channel; 16 for a PNG of a picture with more than 8.")
  var bitDepth = 8

  @Option(name: .shortAndLong, help: "The file to write. It is replaced atomically.")
  var output: String

  @Flag(help: "Print the plan as one JSON object on standard error.")
  var explain = false

  func run() async throws {
    var request = ImageRequest(
      targetSize: try size(), contentMode: contentMode, resizeMode: resizeMode,
      format: format ?? OutputFormat(rawValue: URL(filePath: output).pathExtension.lowercased()) ?? .jpeg,
      quality: quality,
      colorSpace: colorSpace)
    request.dynamicRange = dynamicRange
    request.resampling = resample
    request.bitDepth = bitDepth
    guard bitDepth == 8 || bitDepth == 16 && request.format == .png else {
      throw ValidationError("--bit-depth must be 8, or 16 with --format png")
    }
    guard dynamicRange != .high || request.format.carriesHighDynamicRange && colorSpace == .preserve else {
      throw ValidationError("--dynamic-range high needs --format avif or jxl, and --color-space preserve")
    }
    if let quality, !(1...100).contains(quality) {
      throw ValidationError("--quality must be from 1 to 100, not \(quality)")
    }
    do {
      let file = try LibraryFolder.file(at: input)
      let limits = CodecLimits()
      let header = try ImageHeader.read(from: file, limits: limits)
      // Started only for formats that need one.
      let decoders = Decoders(Settings())
      defer { decoders.pool.end() }
      var plan = RenderPlanner().plan(header, request)
      var rendered: RenderedImage?
      if let development = RenderPlanner().developmentPlan(header, header.sized(request)) {
        // If that fails, a preview of the RAW file serves.
        do throws(CodecError) {
          rendered = try render(development, file, decoders.pictures, limits)
          plan = development
        } catch {
          guard error.isOfFile || error == .decoderUnavailable(.raw) else { throw error }
        }
      }
      if rendered == nil { rendered = try render(plan, file, decoders.pictures, limits) }
      if explain { try printPlan(plan) }
      guard let rendered else { return }
      try Data(rendered.bytes).write(to: URL(filePath: output), options: .atomic)
    } catch {
      throw CommandFailure(description: "\(input): \(error)")
    }
  }

  private func render(
    _ plan: RenderPlan, _ file: any ByteSource, _ workers: WorkerPictureDecoder, _ limits: CodecLimits
  ) throws(CodecError) -> RenderedImage? {
    try Renderer(plan, source: file, workers: workers.urgent, limits: limits, stop: StopFlag()).resume()
  }

  private func size() throws -> TargetSize {
    if targetSize == "max" { return .maximum }
    let sides = targetSize.split(separator: "x").map { Int($0) }
    guard sides.count == 2, let width = sides[0], let height = sides[1],
      (1...TargetSize.maximumSide).contains(width), (1...TargetSize.maximumSide).contains(height)
    else {
      throw ValidationError("--target-size must be max, or WxH with sides from 1 to \(TargetSize.maximumSide)")
    }
    return .size(PixelSize(width: width, height: height))
  }

  private func printPlan(_ plan: RenderPlan) throws {
    struct Payload: Encodable {
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
    }
    let decoded = plan.decodedRegion
    let shape = Payload(
      format: plan.header.format.rawValue, storedSize: .init(plan.header.storedSize),
      orientation: plan.orientation.rawValue, isProgressive: plan.header.isProgressive, hasAlpha: plan.header.hasAlpha,
      region: .init(x: plan.region.x, y: plan.region.y, width: plan.region.width, height: plan.region.height),
      dctScale: plan.header.scalesDecodes ? "\(plan.eighths)/8" : nil,
      decoded: .init(
        x: Double(decoded.x), y: Double(decoded.y), width: Double(decoded.width), height: Double(decoded.height)),
      taps: .init(PixelSize(width: plan.horizontal.taps, height: plan.vertical.taps)),
      planes: plan.planes.map { .init($0) }, output: .init(plan.outputSize),
      outputFormat: plan.format.rawValue, colorSpace: plan.colorSpace.rawValue,
      gainMap: plan.gainMap.map { .init($0.outputSize) }, peakBytes: plan.peakBytes)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    FileHandle.standardError.write(try encoder.encode(shape) + Data("\n".utf8))
  }
}

extension ContentMode: ExpressibleByArgument {}
extension ResizeMode: ExpressibleByArgument {}
extension OutputFormat: ExpressibleByArgument {}
extension ColorSpace: ExpressibleByArgument {}
extension Resampling: ExpressibleByArgument {}
extension DynamicRange: ExpressibleByArgument {}
