//! dqlite's checksum (`src/raft/byte.c`): a CRC-32 that begins with 0, takes the highest bit first and is not inverted at the end.

const CRC_POLYNOMIAL: u32 = 0x04c1_1db7;

const CRC_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0u32;
    while byte < 256 {
        let (mut sum, mut bit) = (byte << 24, 0);
        while bit < 8 {
            sum = if sum >> 31 == 1 { sum << 1 ^ CRC_POLYNOMIAL } else { sum << 1 };
            bit += 1;
        }
        table[byte as usize] = sum;
        byte += 1;
    }
    table
};

/// The checksum of bytes, going on from that of the bytes before them.
pub(super) fn crc32(bytes: &[u8], before: u32) -> u32 {
    bytes.iter().fold(before, |sum, &byte| sum << 8 ^ CRC_TABLE[usize::from(sum.to_be_bytes()[0] ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as it stands in `byte.c`, and what a remainder without inversion gives: of a message and its own checksum, 0.
    #[test]
    fn checksums_are_those_of_dqlite() {
        assert_eq!((CRC_TABLE[1], CRC_TABLE[2], CRC_TABLE[255]), (0x04c1_1db7, 0x0982_3b6e, 0xb1f7_40b4));
        let sum = crc32(b"123456789", 0);
        assert_eq!(sum, 0x89a1_897f);
        assert_eq!(crc32(&sum.to_be_bytes(), sum), 0);
        assert_eq!(crc32(b"6789", crc32(b"12345", 0)), sum);
    }
}
