//! Surfer's command file: commands from its documentation, one per line. State files can hold more, but their format
//! changes with every version.

use super::Found;

/// Returns the commands.
pub(super) fn commands(found: &Found) -> String {
    let mut text = String::new();
    for (name, signals) in &found.groups {
        // The command takes a single word.
        text += &format!("divider_add {}\n", name.replace(char::is_whitespace, "_"));
        for signal in signals {
            text += &format!("variable_add {}\n", signal.path);
        }
    }
    text += "zoom_fit\n";
    if let Some(marker) = &found.marker {
        // Times are in units of the file. The marker is set where the cursor is.
        let name = marker.name.replace(char::is_whitespace, "_");
        text += &format!("cursor_set {}\nmarker_set {name}\n", marker.time_ps);
    }
    text
}
