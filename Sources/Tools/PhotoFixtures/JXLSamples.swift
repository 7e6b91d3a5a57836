import Foundation

/// Small JPEG XL pictures, made by an encoder from the pixels that are described here.
package enum JXLSamples {
  /// 300 x 280, RGB with 8 bits, without loss: ``pixels(width:height:)``. It has several groups.
  package static let rgb = bytes(
    """
    /wq4CFaCgOJCCAIBALACAAAAGniABzQASyixKaP8BjXI9w1mNwoKCgoSJxISjigjwUgBClHpOFdlDJakY4Xh4/z7McYYN26MceOuBEABCEECEA\
    QBIBZaAPNtAAClMQJT0vII7pIr5xq8FEEITkjkJY+QhhCkPh4hBCHEvwhCikIWTwGEvIVoHmEKvQjBdIUgBLqdhHgQ7vabA2Os3m4n3CRtTi+9\
    2r+sb7UIrBEI1SCX5jTVjAsWzS/T7wOZAAAAQAIAACMxJADQqR8i8qAgJLAt6VVKd2SiBzkHj3qNfAZuKcxnv2798BMjxbVrbGxk7VDvFwD15B\
    jHRjGmRjIOMK5VZiA5gR14KGtKEOsSxne9OdhTx/3hb6O+4GVVu2yGaXTwaX6ps3TlfmABA3AYL+BWiERtCuZjcZ23+Dh4o552q7KKnxvmiJgc\
    FwAEAIAkAIAAGQQICoGgeiAqckPxtbUS8q/m0A8sFwABAODCBGADAVL8DQ==
    """)
  /// 60 x 40, the same with alpha: 255 - 4 * x.
  package static let rgba = bytes(
    """
    /woJwYLiQggIEAAUAksoMd2MvYf1YToKCgoKSg4RGEX0GIaKMVgxqvyJMeYjNaAYjEAMnolb5RiDQ5ErARAAQiAARIEHiAke8H2iS/ADAf0WWY\
    UvcCU4NzLsErz6kU+PCs3/////Pn69vxSYlKqwXtLTmjViY6ts/WsCZEVEWE17JoiRSgYokgZio2SHjhYhhwI=
    """)
  /// 40 x 30, gray with 16 bits, without loss: x * 1000 + y * 700.
  package static let gray = bytes(
    """
    /wroMPwAxYUIAgEAfARLOGmYyoP3S0iYBONu/E9bQIzBeTFGxKCLMcaLwfpijIyOiIwXGxEZLzoyMjKCZkNaAOD/H3o6/f+fTqfT6f//dDqdTq\
    f//9PpdDr9/59Op9Pp//50Op1Opz/50+l0On3gn06n04NJDiQKIbUAhySvFJUkrcSHBK+UBwl7ElOg9tUXVXafIH8XDEkVmQCwBypQoG+BCKmH\
    Y9gfKPp1X2M5H0OYFoC+XyaqD819Pupn8Y8+qK+qj54VJOpfrYM+6qjtjz4q++qPPnB+649giT7qX9OHPiqU8Y8+dvXrj14sNuqPIgk+6t3xjz\
    5Gu+qPPhyn649eNSDqH8WNPqpg8Y8+8vrqjz5edOuP34g+6s/QgT7qYvGPPmg564+eESjqDw==
    """)
  /// 64 x 48, lossy: ``ramps``.
  package static let lossy = bytes(
    """
    /wrLQEJxIQASiAIA8ANd5RIAABUqo4wbvJzr+fJDh8W0jesMbbVtYUmiyDg2SSdwmKSgQJ4kxRijoqJisJYLmOsvmAL8VFHD8NCwYwJRLYSGhK\
    2C3IgBUEuFjpvCHWmpsmr50gIjeGC912FRHZEqAghGVKeR0mZhTHVzyZ660QfPZZmajRWuB7Fbph7ByfTy07sTdzOtsRXw9Blfbcm+MToilLJl\
    gyCBc+5lrtySdhi+ZzYAooBsowVtrpACGbZVXRDv4h3vwgMDnMVE5WyE/wR4RBq4Ilt4P8KSkj8GMi6ITPfxN3FvHMYpL0g1fvGVf3l/fuoVmN\
    pKo7/JdKEfdMRDPriMhvcBdQA=
    """)
  /// The same with the orientation 6.
  package static let turned = bytes(
    """
    /wrLLJBQXBIAEogCADAEXeUSAAAVKqOMG7yc6/nyQ4fFtI3rDG21bWFJosg4NkkncJikoECeJcUYraioGIOlXMCQPvMX4NVawoiNBAUDWoxFtK\
    RhLcVFFpRdLfDe2G1BqdVszwD90RMGpT87wuohiPcBiRnt6cNLruQpui1F0rTIFK7EUaitQunMaEtQBBiiVsOpfp+7ZXLjRrq6kVehTZfGU49K\
    Am8QXtO+zbyUZgAP4+gMg2AU1KxpzXJAfxVSIMM2pcyMycwYk5kEAgYAgMGGxon4j9mZcj1h+pklAeLN6RGXneEvzP0JDNhdEGf7tbjcYTPj45\
    ceWHwnI4PaDR0Pif+Vbv/JX3OaAeJ8nD1kLNXbLUyH7wTwAA==
    """)
  /// The same in Display P3: the numbers are those of ``ramps``.
  package static let displayP3 = bytes(
    """
    /wrLQEImNwIAEogCACQEXeUSAAAVKqOMG7yc6/nyQ4fFtI3rDG21bWFJosg4NkkncJikoECSpBgVo6KiYrCQGxgVugAAZDvjewdAlgcgN62uiR\
    AbZtEXiF0DLCOMGO5SA0y1EOJ0pVLs+F5xEkLOTRjcmwA8FK8OYeeqTUBdSQjG697MLpJb3Ezfptro5TBUfHuY2zh6HZh8b1h2bVCffkPbPm7U\
    E1Kr/CaY4QSYyykjOKcbhheWDYAooG20AM4VUiDDdiveRfIuRjKehDACgGIYdtESQss/T8ROoXhu/EEkO5ivAoFEIuvHr4ifY1nzMNbr5OQWcP\
    T4hH98leFvbdbNAz6gTfCfLLH/L4j7OPJJFI3ceEI6Ag==
    """)
  /// 64 x 48, lossy, with the curve PQ and the primaries of BT.2020.
  package static let pq = bytes(
    """
    /wrLQEIePQIAEogCAKQJXeUSAAAVKqOMG7yc6/nyQ4fFtI3rDG21bWFJosg4NkkncJikoMDd0Y0xylFRijHKRUz2uy8AGxdv+/UhFYI17FSXNi\
    79vOidqcxQ5qcgie0kzTyzcPwF5YIzGtEoID5gNZc6kw5k2aIgHmhQ6AZ9q5n9VtuPRRcGWqtC3Fnfmf+kgS3ZMMu515p98WjFMPCpAs2lrswR\
    qvruMPI91N36nzgsTu8yVfsA2G+LGUFm3QHs0/L3Sps/Vy8aZ5/2ZXLba5PPVzVUJKc8HEwxiBg6/ygAouiGP2+BAJmB5gsULbjfBVUDwFCU8z\
    0gHMPnQxmPdR5VM42DW/pOBHROjOOzubYTUv2v/xP9T1/U+HVuuftizBYFQy0zFE78q1WZzGMEwuCpBFz9Fw6AFBRIcE3eXc5MjDFzBukwiloV\
    WVZVVZE83unugoVgAAyGK0Mi/HVnJcy1iwfowWiHuj+QoEwAe3wwIo//Hl4PTxY4Lm8t9aXNslkPOjdXvQSFF+26j0AP6bZujMAw1Ed/KgEoYg\
    G92nCd3txniu6jUHXKdLyViHs3y4vpJeRx+i7sB8k2zW2d1ZdBeBIJS80m/MrtjvUIBr8/zGpAFC7qiWv9MCgTxH1O5Ovx66L7YsfQoTt0Gzjw\
    Kzz7a9PMobV3sBxyUrLnz+xR0/u8PtyKwbb9uvq4jy7/LOOOvGBZNWQ/BfRfy3aw7OqbdJ85XfI1qgs6PtwDSCDb84IIcePxlthFNMNP2XNC50\
    2+JthRNX04Xk53wwxQ49XduPSc2dDzk8HpnErVNpa6y13fCZMoNEectFpIEcf/sqZa4GQDEAE=
    """)
  /// 60 x 40, without loss, in Display P3: ``pixels(width:height:)``.
  package static let losslessP3 = bytes("/woJQUAmNwIIAgEAmABLKDXGPswSCgKgyDgTPy8QBEDf9m+BJBiSgHLRDSYuzN1IazCbAQ==")
  /// 60 x 40, without loss, with an ICC profile of 472 bytes: ``pixels(width:height:)``.
  package static let profile = bytes(
    """
    /woJQQh/CgMS5gGQZLbeX23lWAiIzcMtocLjOAnNKisUlRcyEUeNRNF6mCqqRQDH3njtzfoP4Ctq1QTBzyHFjhMb/BbpcP4L73u0a337c7oNHO\
    iF7f78+/cvDk5RB8aWQuupF62HiS6IdPfxkFKkogr58otuF+PihTOhd8/G4z2vkaLVseTF442rr9e8xxEIAgEAmABLKDXGPswSCgKgyDgTPy8Q\
    BEDf9m+BJBiSgHLRDSYuzN1IazCbAQ==
    """)
  /// The same, lossy.
  package static let lossyProfile = bytes(
    """
    /woJQQp/CgMS5gGQZLbeX23lWAiIzcMtocLjOAnNKisUlRcyEUeNRNF6mCqqRQDH3njtzfoP4Ctq1QTBzyHFjhMb/BbpcP4L73u0a337c7oNHO\
    iF7f78+/cvDk5RB8aWQuupF62HiS6IdPfxkFKkogr58otuF+PihTOhd8/G4z2vkaLVseTF442rr9e8xxEAEogCADQDDcwUAAAVKqOMG7yc6/ny\
    Q4fFtI3rDG21bWFJosg4NkkncAgpkGa3blVKvBgpRsV4xyif5AnAdinl416F4YR7KLI+Y4phIGGZtCM89fS85o9kPQQtwFsaosnDzHsqwLs+fV\
    gQnOszP9ExAAtTWwYLDf9NKw3tCetQ7cqtgAqmXiEFEtpSd5eXmTHGeGlZ3g7C6inFJNUr5A9pmWdSwut1wizksse7GmEKtr/zE6g34a8vG6A0\
    HALHg/DiNs9WrAis4gmikIJYsQBwAoH+AA==
    """)
  /// 60 x 40, two frames, without loss: the first one is ``pixels(width:height:)``.
  package static let animation = bytes(
    """
    /woJBQMIKC4JCAKSCQAAmABLKDXGPswSCgKgyDgTPy8QBEDf9m+BJBiSgHLRDSYuzN1IazCbAQgCkgUAqABLOGiYwoP3FBQEQJ1xPsaM8S8QBE\
    BzEHBAILqUAANR1pVByjoYelZAiwE=
    """)
  /// 1000 x 1000, lossy, of one gray.
  package static let large = bytes(
    """
    /wo6HwEJxYUAEwgCAOABBwwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAi00JAIAKlVHGDV7O9Xz5ocNi2sZ1hrbatrCSFSkoKNxDz4gXY7DGo7\
    SDIMgCAABzU14Y63QKcI+PvE/SgXAP4bFQNJjpEg2vaw8aXScfD6G7Y9Ybha9XQP0m/n9KwyDa6WmDfBiRkZ8u+8pZSIHcjTEYG2PcGLwtDOjs\
    AECCpfOkPEG4skHoh6i3laq1YuHxn/nKBkFJAg==
    """)
  /// A JPEG of ``ramps``, 64 x 48, and the data that make the JPEG of it.
  package static let jpeg = bytes(
    """
    /wrLQCTgWwAQAAAJCGAIYAhg/v8OAAAYAAgAAQAAAAAAgIAliSLj2Alp7lgBAEpOCgoKCmyBGskYxchIRlWFjUK1GCNjjIxELmMMJjESCTFYKT\
    o6GsIhRsQwIjqCaaVlAVAefSn7Xdum9SVo67Bb2L4IBhtPy6Dza8NgtGTaew3R+iU49RZke2/LEHjz7X2MiMfNGZeZJdTISbfqoMj0z5iSyniy\
    b79L4nlqm/u42PQ+6vf+579SynBeKcWMzkc7YdF4AyYGhUnonWFeXEXF3XwFan/Ww4EdFEA2vSM73gIANjbWCSBmZjcAQJ4QAADWBQD5bQAAAA\
    AAAAAAAGCAyAOoFVAOBogBhCHAYg8cpVBAGAIkngQGEYSsdwAAciAAAAAwAgAAAAAAAAAAAAAAAADgACCFyrBjplN8kukcoBgowig7mR0XKMBv\
    N1Yu+x/9gP07jDp9FftPVLzHgoKMZbDQlgaMZQWQHikoKCgoEBcGTC8xCEbD6GlKGGgMHmGpNCkG6zA6MgYFRsobAAQx/qIwO+OZ72R+ZxEksf\
    +NxlYYOxtErJBjbM+1MVS1xr4Uy+U4q1ltzK68MReGhrh6iKQ3a05qbLetMUWWxqoNGxuy7wyfoXTysbeoxpnSGtka68PEDMlgRl2TUrQ9iYHB\
    x4rsPov/7iwwsG/tsU63xiScO/MM7gTJrJWuMY6KRiChqEPcjCS3MTKNxrAt2tgVK9lojFyvvaGx97vGCJsa07JorJiiM0/gVr1HqLkWo7xprA\
    27072/PrlOgCMH
    """)
  package static let jpegReconstruction = bytes(
    """
    wG0DCIIgtAwIgFCjQMhVJQAAIOSobMFQnP8TRMYIZZxTCtqPkCHMUgcZZqB0hxqsDxlOPmbAIQcVFjlo2IHto4b+/ZFlDjvuQEPR/S/GOGOSSz\
    b5ZJRTnpnmmm2+GeechR6a6KKNPhrppKWemuqqrb4a66zFHpvsss0+G+205Z6b7rrtvhvvvAUfnPDCDT8c8cQjl3xyyiu3/HLMMw9d9NFJL930\
    01FPPXbZZ6e9dttvxz334IUfnvjijT8e+eSjl3566qu3/nrsswc/fPHHJ798889HP33445d/fvrrt/9+/PP/VzBVVQIAIOSobMFQnP8XREIpo6\
    xTisR4QMhm1CDDpDrQUD3YcO4hxwwoyAcNOeiwAxuLLHPU7/Zhxw2t6I88M/gkw/tfjHHGJZt8Msop01yzzTfjnLPQQxNdtNFHI5201FNTXbXV\
    V2Odtdhjk1222Wejnbbcc9Ndt91345134IIPTnjhhh+OeOKRSz455ZVbfjnmmYcu+uikl2766ainHrvss9Neu+2345578MIPT3zxxh+PfPLRSz\
    899dVbfz322Ycv/vjkl2/++einH7/889Nfv/3345//v8APAFQWAAsIgOAAEEpGSUYAAQEAAAEAAQAAAw==
    """)

  /// Steps of 32 pixels.
  package static func pixels(width: Int, height: Int) -> Pixels {
    var pixels = Pixels(width: width, height: height, channels: 3)
    for y in 0..<height {
      for x in 0..<width {
        let rgb = [x / 32 * 25, y / 32 * 25, (x / 64 + y / 64) % 2 * 200]
        for c in 0..<3 { pixels.bytes[(y * width + x) * 3 + c] = UInt8(truncatingIfNeeded: rgb[c]) }
      }
    }
    return pixels
  }

  /// 64 x 48: x * 4, y * 5, 255 - 2 * (x + y).
  package static var ramps: Pixels {
    var pixels = Pixels(width: 64, height: 48, channels: 3)
    for y in 0..<48 {
      for x in 0..<64 {
        let rgb = [x * 4, y * 5, 255 - 2 * (x + y)]
        for c in 0..<3 { pixels.bytes[(y * 64 + x) * 3 + c] = UInt8(rgb[c]) }
      }
    }
    return pixels
  }

  private static func bytes(_ base64: String) -> [UInt8] { Data(base64Encoded: base64).map(Array.init) ?? [] }

  // MARK: Boxes

  /// A file of boxes (ISO/IEC 18181-2) with these boxes after the type.
  package static func file(_ boxes: [UInt8]...) -> [UInt8] {
    Boxes.box("JXL ", [0x0D, 0x0A, 0x87, 0x0A]) + Boxes.fileType("jxl ", ["jxl "]) + boxes.joined()
  }

  /// A box whose content is wrapped as Brotli (RFC 7932 §9.2) without being made smaller: at most 65,536 bytes.
  package static func compressed(_ type: String, _ content: [UInt8]) -> [UInt8] {
    // A window of 64 KiB, one block that is stored, then an empty last one.
    let head = (content.count - 1) << 4 | 1 << 20
    let stream = (0..<3).map { UInt8(head >> (8 * $0) & 255) } + content + [3]
    return Boxes.box("brob", Boxes.fourCC(type), stream)
  }

  /// A codestream in parts of this many bytes.
  package static func parts(_ codestream: [UInt8], of bytes: Int) -> [UInt8] {
    let starts = Array(stride(from: 0, to: codestream.count, by: bytes))
    return starts.enumerated().flatMap { number, start in
      let isLast = number == starts.count - 1
      return Boxes.box(
        "jxlp", Boxes.number(isLast ? number | 0x8000_0000 : number, 4),
        Array(codestream[start..<min(codestream.count, start + bytes)]))
    }
  }

  /// An EXIF box of a block that begins with its TIFF header.
  package static func exif(_ block: [UInt8], distance: Int = 0) -> [UInt8] {
    Boxes.box("Exif", Boxes.number(distance, 4), [UInt8](repeating: 0x41, count: distance), block)
  }
}
