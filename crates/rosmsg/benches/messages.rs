//! What a message of any type costs: as JSON, beside a struct made for it, and one field of it.

fn main() {
    divan::main();
}
