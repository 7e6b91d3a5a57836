import ImageCodec
import PhotoModel

/// One decode and the outputs that it feeds, either with interleaved rows or with planes.
protocol RenderPipeline: AnyObject {
  var decoder: any PictureDecoder { get }
  /// Outputs that still want rows.
  var outputs: [any RenderOutput] { get }

  /// Decodes as far as there is input. Calls `outputFinished` for each output when it has finished or failed, with its
  /// number in the shared plan. At the end of the decode all outputs have left.
  func decode(_ outputFinished: @escaping OutputFinished) -> DecodeOutcome

  typealias OutputFinished = (Int, any RenderOutput, CodecError?) -> Void
}

/// The common part of both kinds of pipeline: which outputs still want decoded rows.
///
/// Each output has its own buffer for a row. The decoder writes into the buffer of the first output that still wants
/// rows; the others get a copy, which costs a hundredth of decoding the row. An output leaves when it is complete, when
/// it fails, or when its stop flag is raised; the others continue. A complete output waits for the next row or the end
/// of the decode before it leaves, because an error in the last row may show only after it, for example in a checksum.
class DecodedRowDistributor<Output: RenderOutput> {
  struct Branch {
    /// The output's number in the shared plan.
    let member: Int
    let output: Output
    let stop: StopFlag
    /// The output wants no more rows.
    fileprivate(set) var isComplete = false
    /// It was complete, and no error showed with the next row.
    fileprivate(set) var isSettled = false

    init(member: Int, output: Output, stop: StopFlag) {
      self.member = member
      self.output = output
      self.stop = stop
    }
  }

  private(set) var branches: [Branch]
  private let leavesEarly: Bool
  private var outputFinished: RenderPipeline.OutputFinished?

  /// - Parameter leavesEarly: a complete output may leave during the decode. False if finishing it may need a decoder
  ///   worker while this decode occupies one: renders that all wait for another worker would wait for each other.
  init(_ branches: [Branch], leavesEarly: Bool) {
    self.branches = branches
    self.leavesEarly = leavesEarly
  }

  var outputs: [any RenderOutput] { branches.map(\.output) }

  /// Decodes while there are outputs, and finishes the remaining ones at the end.
  func run(_ outputFinished: @escaping RenderPipeline.OutputFinished, _ decode: () throws(CodecError) -> DecodeOutcome)
    -> DecodeOutcome
  {
    if branches.isEmpty { return .finished }
    self.outputFinished = outputFinished
    defer { self.outputFinished = nil }
    var failure: CodecError?
    do throws(CodecError) {
      if try decode() == .needsInput { return .needsInput }
    } catch {
      failure = error
    }
    while let first = branches.first { leave(0, first.isSettled ? nil : failure ?? first.output.failure) }
    return .finished
  }

  /// Lets every output process the new rows. Returns false if no output wants more.
  func advance(_ wantsMore: (Output) -> Bool) -> Bool {
    var i = 0
    while i < branches.count {
      let branch = branches[i]
      if branch.isComplete {
        if leavesEarly {
          leave(i, nil)
        } else {
          branches[i].isSettled = true
          i += 1
        }
      } else if branch.stop.isRaised {
        leave(i, .stopped)
      } else {
        branches[i].isComplete = !wantsMore(branch.output)
        if let failure = branch.output.failure { leave(i, failure) } else { i += 1 }
      }
    }
    return branches.contains { !$0.isComplete }
  }

  private func leave(_ i: Int, _ failure: CodecError?) {
    let branch = branches.remove(at: i)
    outputFinished?(branch.member, branch.output, failure)
  }
}
