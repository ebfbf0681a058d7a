//! Colours and CSS rules. The rules have literal colours and no CSS variables, so that programs with limited CSS
//! support draw the pictures too.

/// Number of line colours. Further lines repeat them, first dashed, then dotted.
pub const LINE_COLOURS: usize = 6;

struct Palette {
    paper: &'static str,
    panel: &'static str,
    ink: &'static str,
    muted: &'static str,
    grid: &'static str,
    axis: &'static str,
    good: &'static str,
    bad: &'static str,
    /// Okabe and Ito's colours, which colour-blind people can tell apart, in shades that suit the background.
    lines: [&'static str; LINE_COLOURS],
}

const LIGHT: Palette = Palette {
    paper: "#ffffff",
    panel: "#f5f6f8",
    ink: "#1b1f24",
    muted: "#59636e",
    grid: "#e4e7eb",
    axis: "#8a939d",
    good: "#00734f",
    bad: "#b3400a",
    lines: [
        "#0072b2", "#d55e00", "#009e73", "#a3449a", "#9a7500", "#454c54",
    ],
};

const DARK: Palette = Palette {
    paper: "#14171b",
    panel: "#1d2127",
    ink: "#e6e9ed",
    muted: "#9aa4af",
    grid: "#2a3038",
    axis: "#69737e",
    good: "#3fc79a",
    bad: "#ff9a5c",
    lines: [
        "#56b4e9", "#f08a3c", "#2fc295", "#e08fc8", "#e3cf4a", "#c3cad2",
    ],
};

/// Returns the rules for pictures, for both colour schemes.
pub fn picture_rules() -> String {
    both(picture_colours) + PICTURE_SHAPES
}

/// Returns the rules for the page, including those for pictures.
pub fn page_rules() -> String {
    // The colours come last, because borders in the shapes' rules are written without a colour.
    include_str!("page.css").to_owned() + &both(page_colours) + &picture_rules()
}

fn both(rules: fn(&Palette) -> String) -> String {
    format!(
        "{}\n@media (prefers-color-scheme: dark) {{\n{}\n}}\n",
        rules(&LIGHT),
        rules(&DARK)
    )
}

const PICTURE_SHAPES: &str = "\
svg text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;font-variant-numeric:tabular-nums}
svg .line{fill:none;stroke-width:1.8;stroke-linejoin:round;stroke-linecap:round}
svg .dot{stroke-width:7;stroke-linecap:round}
svg .stroke{stroke-width:2.5;stroke-opacity:.45}
svg .d1{stroke-dasharray:6 4}
svg .d2{stroke-dasharray:1.5 4}
svg .area{fill-opacity:.16;stroke:none}
svg .cells{fill:none}
svg .dots{fill:none;stroke-width:3.5;stroke-linecap:round;stroke-opacity:.7}
svg .range{stroke:none}
svg .grid,svg .axis,svg .marker{stroke-width:1;shape-rendering:crispEdges}
svg .marker{stroke-dasharray:2 3}
svg .level{stroke-width:1.2;stroke-dasharray:7 3 1.5 3;fill:none}
svg .halo{paint-order:stroke;stroke-width:4px;stroke-linejoin:round}
svg .heading{font-size:15px;font-weight:600}
svg .wire{stroke-width:1.5}
svg .stopped{stroke-linecap:butt;stroke-opacity:.8}
.at-once .stopped:not(.now){display:none}
svg .cause{fill:none;stroke-width:1.2}
svg .chosen{fill-opacity:.2}
.spread svg{touch-action:pan-y;cursor:crosshair;user-select:none;-webkit-user-select:none}
svg .node rect{stroke-width:1.5}
svg .node.model rect{stroke-dasharray:4 3}
svg .wire.failed{stroke-dasharray:3 5}
svg .cycle{stroke-width:3}
svg .struck{stroke-width:2.5;fill:none}
";

fn picture_colours(palette: &Palette) -> String {
    let Palette {
        paper,
        panel,
        ink,
        muted,
        grid,
        axis,
        bad,
        ..
    } = palette;
    let mut rules = format!(
        "svg .paper{{fill:{paper}}}\n\
         svg text{{fill:{muted}}}\n\
         svg text.ink,svg text.heading{{fill:{ink}}}\n\
         svg .halo{{stroke:{paper}}}\n\
         svg .grid{{stroke:{grid}}}\n\
         svg .axis{{stroke:{axis}}}\n\
         svg .marker,svg .level{{stroke:{muted}}}\n\
         svg .row{{fill:{grid}}}\n\
         svg .band,svg .chosen{{fill:{}}}\n\
         svg .area{{fill:{}}}\n\
         svg .cells{{stroke:{}}}\n\
         svg .dots{{stroke:{axis}}}\n\
         svg .wire{{stroke:{axis}}}\n\
         svg .stopped{{stroke:{}}}\n\
         svg text.lost{{fill:{}}}\n\
         svg text.marked{{fill:{}}}\n\
         svg .cause{{stroke:{ink}}}\n\
         svg .node rect{{fill:{paper};stroke:{ink}}}\n\
         svg .node.switch rect{{fill:{panel};stroke:{axis}}}\n\
         svg .node.rtl rect{{stroke:{}}}\n\
         svg .node text{{fill:{ink}}}\n\
         svg .node text.lost{{fill:{bad}}}\n\
         svg .struck,svg .wire.failed{{stroke:{bad}}}\n\
         svg .cycle{{stroke:{}}}\n\
         svg .cycle.head{{fill:{};stroke:{paper};stroke-width:1}}\n",
        palette.lines[1],
        palette.lines[0],
        palette.lines[0],
        palette.lines[1],
        bad,
        palette.lines[3],
        palette.lines[0],
        palette.lines[3],
        palette.lines[3]
    );
    for (index, colour) in palette.lines.iter().enumerate() {
        rules += &format!("svg .c{index}{{stroke:{colour}}}\nsvg .r{index}{{fill:{colour}}}\n");
    }
    rules
}

fn page_colours(palette: &Palette) -> String {
    let Palette {
        paper,
        panel,
        ink,
        muted,
        grid,
        good,
        bad,
        ..
    } = palette;
    let bar = palette.lines[1];
    format!(
        "body{{background:{paper};color:{ink}}}\n\
         .muted,th,dt,figcaption .unit,figcaption .note{{color:{muted}}}\n\
         pre,.tip{{background:{panel}}}\n\
         td,th,tr,dl.facts div,summary{{border-color:{grid}}}\n\
         .good{{color:{good}}}\n\
         .bad{{color:{bad}}}\n\
         .verdict.good{{border-color:{good}}}\n\
         .verdict.bad{{border-color:{bad}}}\n\
         .bar{{background:{bar}}}\n"
    )
}

/// Returns the class of the band around line number `index`.
pub fn range_class(index: usize) -> String {
    format!("range r{}", index % LINE_COLOURS)
}

/// Returns the class of line number `index`: colour and dash.
pub fn line_class(index: usize) -> String {
    let colour = index % LINE_COLOURS;
    match index / LINE_COLOURS % 3 {
        0 => format!("line c{colour}"),
        dash => format!("line c{colour} d{dash}"),
    }
}
