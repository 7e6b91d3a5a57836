import ArgumentParser
import DurableFiles
import Foundation
import ImageCodec
import ImageRender
import LibraryFolder
import PhotoModel

/// Renders one file without a library, with the same planner and renderer as the `/image` route.
struct Render: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Render one file upright at a given size, without a library.")

  @Argument(help: "The picture or video to render.", completion: .file())
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

  @Option(
    name: .shortAndLong, help: "The file to write. An incomplete file never has this name.", completion: .file())
  var output: String

  @Flag(help: "Replace an existing file, but never the input.")
  var replace = false

  @Flag(help: "Print the plan as one JSON object on standard error.")
  var explain = false

  func validate() throws { _ = try request() }

  func run() async throws {
    let request = try request()
    if let file = FileNumber(output), file == FileNumber(input) {
      throw CommandFailure(description: "\(output) is the input; choose another file")
    }
    let outputFile = try OutputFile(output, replacing: replace)
    do {
      let file = try LibraryFolder.file(at: input)
      guard file.isRegularFile else {
        throw CommandFailure(description: "\(input) is not a regular file; give the name of a picture")
      }
      let limits = CodecLimits()
      let header = try ImageHeader.read(from: file, limits: limits)
      // Started only for formats that need one.
      let decoders = Decoders(Settings())
      defer { decoders.pool.end() }
      var plan = RenderPlanner().plan(header, request)
      var rendered: RenderedImage?
      if let development = RenderPlanner().developmentPlan(header, header.sized(request)) {
        // If that fails, a preview in the RAW file is used.
        do throws(CodecError) {
          rendered = try render(development, file, decoders.pictures, limits)
          plan = development
        } catch {
          guard error.isOfFile || error.isOfMissingDecoder else { throw error }
        }
      }
      let image = if let rendered { rendered } else { try render(plan, file, decoders.pictures, limits) }
      if explain { try printPlan(plan) }
      try outputFile.write { put in try put(image.bytes) }
    } catch let error as CommandFailure {
      throw error
    } catch {
      throw CommandFailure(description: "\(input): \(error)")
    }
  }

  private func request() throws -> ImageRequest {
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
    guard dynamicRange != .high || request.format.carriesHDR && colorSpace == .preserve else {
      throw ValidationError("--dynamic-range high needs --format avif or jxl, and --color-space preserve")
    }
    if let quality, !(1...100).contains(quality) {
      throw ValidationError("--quality must be from 1 to 100, not \(quality)")
    }
    return request
  }

  private func render(
    _ plan: RenderPlan, _ file: any ByteSource, _ workers: WorkerPictureDecoder, _ limits: CodecLimits
  ) throws(CodecError) -> RenderedImage {
    try Renderer(plan, source: file, workers: workers.urgent, limits: limits, stop: StopFlag()).render()
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
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    FileHandle.standardError.write(try encoder.encode(RenderPlanJSON(plan)) + Data("\n".utf8))
  }
}

extension ContentMode: ExpressibleByArgument {}
extension ResizeMode: ExpressibleByArgument {}
extension OutputFormat: ExpressibleByArgument {}
extension ColorSpace: ExpressibleByArgument {}
extension Resampling: ExpressibleByArgument {}
extension DynamicRange: ExpressibleByArgument {}
