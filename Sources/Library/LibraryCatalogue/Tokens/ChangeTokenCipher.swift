import Cryptography
import Foundation
import PhotoModel
import Primitives
import Synchronization

/// Converts tokens to text and back: a permutation of 64 bits under the catalogue's key, in base64url. The permutation
/// is a balanced Feistel network of four rounds over HMAC-SHA256, which is a strong pseudorandom permutation (Luby and
/// Rackoff 1988).
final class ChangeTokenCipher: Sendable {
  private static let rounds: ClosedRange<UInt8> = 1...4
  /// The number of cached texts. A page of assets has few distinct revisions, which other pages share.
  private static let cachedTextCount = 4096
  /// Domain separation from other uses of the same key.
  private static let purpose = Data("photod change token".utf8)

  private struct State {
    let key: HMACSHA256
    /// Indexed by the lowest bits of the number.
    var texts: [(number: Int64, text: String)] = []
  }

  private let state: Mutex<State>

  init(secret: Data) {
    var mac = HMACSHA256(key: secret)
    mac.update(Self.purpose)
    state = Mutex(State(key: mac))
  }

  /// The text of a token: eleven letters.
  func text(of token: ChangeToken) -> String {
    state.withLock { state in
      if state.texts.isEmpty { state.texts = Array(repeating: (.min, ""), count: Self.cachedTextCount) }
      let slot = Int(truncatingIfNeeded: token.number) & (Self.cachedTextCount - 1)
      if state.texts[slot].number == token.number { return state.texts[slot].text }
      let block = Self.permuted(UInt64(bitPattern: token.number), state.key, Self.rounds.map { $0 })
      let text = withUnsafeBytes(of: block.bigEndian) { Base64URL.encode($0) }
      state.texts[slot] = (token.number, text)
      return text
    }
  }

  /// The token of a text. `nil` if the text has the wrong format or decrypts to a number that is out of range.
  func token(of text: String) -> ChangeToken? {
    guard text.utf8.count == 11, let bytes = Base64URL.decode(text), bytes.count == 8 else { return nil }
    let block = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let key = state.withLock { $0.key }
    // With swapped halves and reversed rounds, the network inverts itself.
    let number = Self.swapped(Self.permuted(Self.swapped(block), key, Self.rounds.reversed()))
    return number <= UInt64(Int64.max) ? ChangeToken(Int64(number)) : nil
  }

  private static func swapped(_ block: UInt64) -> UInt64 { block << 32 | block >> 32 }

  private static func permuted(_ block: UInt64, _ key: HMACSHA256, _ rounds: [UInt8]) -> UInt64 {
    var left = UInt32(truncatingIfNeeded: block >> 32)
    var right = UInt32(truncatingIfNeeded: block)
    for round in rounds {
      var mac = key
      mac.update([round])
      withUnsafeBytes(of: right.bigEndian) { mac.update($0) }
      let mask = mac.finalize().prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      (left, right) = (right, left ^ mask)
    }
    return UInt64(left) << 32 | UInt64(right)
  }
}
