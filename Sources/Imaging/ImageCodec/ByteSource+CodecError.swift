import PhotoModel

extension CodecError {
  /// A failed read of the source.
  package init(_ error: ByteSourceError) {
    switch error {
    case .readFailed(let code): self = .readFailed(code: code)
    }
  }
}

extension ByteSource {
  /// As ``PhotoModel/ByteSource/bytes(at:count:)``, for code that throws ``CodecError``.
  package func codecBytes(at offset: Int64, count: Int) throws(CodecError) -> [UInt8] {
    do throws(ByteSourceError) {
      return try bytes(at: offset, count: count)
    } catch {
      throw CodecError(error)
    }
  }
}
