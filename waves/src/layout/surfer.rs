//! Surfer's command file: commands of its documentation, one a line. State files hold more, and change with every version.

use super::Found;

/// The commands.
pub(super) fn commands(found: &Found) -> String {
    let mut text = String::new();
    for (name, signals) in &found.groups {
        // The command takes one word.
        text += &format!("divider_add {}\n", name.replace(char::is_whitespace, "_"));
        for signal in signals {
            text += &format!("variable_add {}\n", signal.path);
        }
    }
    text + "zoom_fit\n"
}
