//! The page around the content: head, style, patterns.

use crate::markup::Markup;

/// Ahead of everything. The policy lets nothing be loaded and nothing be run.
const HEAD: &str = "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n\
    <head>\n<meta charset=\"utf-8\" />\n\
    <meta http-equiv=\"Content-Security-Policy\" \
    content=\"default-src 'none'; style-src 'unsafe-inline'\" />\n\
    <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n\
    <meta name=\"color-scheme\" content=\"light dark\" />\n\
    <meta name=\"referrer\" content=\"no-referrer\" />\n";

/// The patterns over the classes' colours: greyscale needs them.
const PATTERNS: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"patterns\" \
    aria-hidden=\"true\" width=\"0\" height=\"0\"><defs>\
    <pattern id=\"stripes\" width=\"7\" height=\"7\" patternUnits=\"userSpaceOnUse\" \
    patternTransform=\"rotate(45)\"><rect width=\"2\" height=\"7\" class=\"ink\" /></pattern>\
    <pattern id=\"dots\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
    <circle cx=\"3\" cy=\"3\" r=\"1.2\" class=\"ink\" /></pattern>\
    </defs></svg>\n";

/// A whole page.
pub(crate) fn page(title: &str, inside: impl FnOnce(&mut Markup)) -> String {
    let mut m = Markup::default();
    m.own(HEAD);
    m.element("title", &[], title);
    m.own("<style>\n");
    m.own(include_str!("style.css"));
    m.own("</style>\n</head>\n");
    m.within("body", &[], |m| {
        m.own(PATTERNS);
        inside(m);
    });
    m.own("</html>\n");
    m.end()
}
