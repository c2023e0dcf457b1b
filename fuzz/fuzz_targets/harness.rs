//! What every target is: its check, and our mutator taking turns with libFuzzer's own.

macro_rules! target {
    ($name:literal) => {
        libfuzzer_sys::fuzz_target!(|data: &[u8]| (targets::Target::named($name).check)(data));

        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
            let mut random = targets::mutate::Random::new(seed.into());
            if random.below(2) == 0 {
                return libfuzzer_sys::fuzzer_mutate(data, size, most);
            }
            let mut mutant = data[..size].to_vec();
            targets::Target::named($name).mutate(&mut mutant, &mut random, most);
            data[..mutant.len()].copy_from_slice(&mutant);
            mutant.len()
        });
    };
}
