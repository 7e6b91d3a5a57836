import ImageCodec
import PhotoModel

/// One decode, and the outputs that it feeds: by interleaved rows or by planes.
protocol RenderPipeline: AnyObject {
  var decoder: any PictureDecoder { get }
  /// Those that still want rows.
  var outputs: [any RenderOutput] { get }

  /// Goes on as far as there is input. `left` is told of each output as it is done with, by its number in the shared plan,
  /// with what went wrong if something did; all have left when it is finished.
  func decode(_ left: @escaping Left) -> DecodeOutcome

  typealias Left = (Int, any RenderOutput, CodecError?) -> Void
}

/// What the two kinds of pipeline have in common: who still wants what is decoded.
///
/// Each output has its own place for a row. The decoder writes to that of the first which still wants rows, and the others
/// get a copy, a hundredth of what decoding the row took. An output leaves when it has all that it wants, when it fails, and
/// when its stop flag is raised; the others go on. One that has all that it wants waits for the next row or the end of the
/// decode: what is wrong with the last row may show behind it, as a checksum does.
class FanOut<Output: RenderOutput> {
  struct Branch {
    /// Its number in the shared plan.
    let member: Int
    let output: Output
    let stop: StopFlag
    /// It wants no more.
    fileprivate(set) var isComplete = false

    init(member: Int, output: Output, stop: StopFlag) {
      self.member = member
      self.output = output
      self.stop = stop
    }
  }

  private(set) var branches: [Branch]
  private var left: RenderPipeline.Left?

  init(_ branches: [Branch]) {
    self.branches = branches
  }

  var outputs: [any RenderOutput] { branches.map(\.output) }

  /// Decodes, for as long as there are outputs, and lets those go that are left in the end.
  func run(_ left: @escaping RenderPipeline.Left, _ decode: () throws(CodecError) -> DecodeOutcome) -> DecodeOutcome {
    if branches.isEmpty { return .finished }
    self.left = left
    defer { self.left = nil }
    var failure: CodecError?
    do throws(CodecError) {
      if try decode() == .needsInput { return .needsInput }
    } catch {
      failure = error
    }
    while let first = branches.first { leave(0, failure ?? first.output.failure) }
    return .finished
  }

  /// Lets every output look at what arrived. False: none wants more.
  func advance(_ wantsMore: (Output) -> Bool) -> Bool {
    var i = 0
    while i < branches.count {
      let branch = branches[i]
      if branch.isComplete {
        leave(i, nil)
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
    left?(branch.member, branch.output, failure)
  }
}
