//! The browser that the page is looked at with.

use std::path::PathBuf;

/// Debian's Chromium, and Node, which drives it.
pub struct Browser {
    /// Node.
    pub node: PathBuf,
    /// Chromium.
    pub chromium: PathBuf,
}

impl Browser {
    /// `None`, told, where there is none and the test need not run.
    #[track_caller]
    pub fn or_skip() -> Option<Self> {
        match Self::find() {
            Ok(browser) => Some(browser),
            Err(missing) => {
                assert!(std::env::var_os("CI").is_none(), "{missing}");
                eprintln!("skipped: {missing}");
                None
            }
        }
    }

    fn find() -> Result<Self, String> {
        let find = |name: &str| {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let mut folders = std::env::split_paths(&path);
            folders.find_map(|folder| Some(folder.join(name)).filter(|program| program.is_file()))
        };
        let chromium = std::env::var_os("CHROMIUM").map(PathBuf::from);
        let chromium = chromium.or_else(|| find("chromium"));
        let chromium = chromium.ok_or("needs Chromium (apt-get install chromium)")?;
        let node = find("node").ok_or("needs Node (apt-get install nodejs)")?;
        let packages = crate::browser_folder().join("node_modules/playwright-core");
        assert!(packages.exists(), "run `npm ci` in e2e/browser, or `./hopwatch test e2e`");
        Ok(Self { node, chromium })
    }
}
